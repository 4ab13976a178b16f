//! Passwords and certificates of real brokers.

use crate::broker::Broker;
use crate::servers;
use crate::support::Folder;
use crate::topics::{keys, write};

/// The settings of a client that is let in.
fn properties(folder: &Folder, ca: &str, password: &str) {
    let user = servers::setting("TAMIS_KAFKA_USER");
    folder.write(
        "kafka.properties",
        format!(
            "security.protocol=sasl_ssl\nsasl.mechanisms=SCRAM-SHA-512\nsasl.username={user}\nsasl.password={password}\nssl.ca.location={ca}\n"
        ),
    );
}

#[test]
#[ignore = "needs real brokers: ./check --clusters kafka"]
fn passwords_and_certificates_are_checked_and_what_is_wrong_is_said() {
    let broker = Broker::real(&[("train", 2), ("ask", 1), ("seen", 1)]);
    let folder = Folder::new();
    let train = keys(500, 400, 41);
    write(&broker, "train", 2, &train, 42);
    write(&broker, "ask", 1, &train[..10], 43);
    let [ca, other, password] =
        ["TAMIS_KAFKA_CA", "TAMIS_KAFKA_OTHER_CA", "TAMIS_KAFKA_PASSWORD"].map(servers::setting);
    let safe = servers::setting("TAMIS_KAFKA_SAFE");
    let url = |servers: &str, topic: &str| format!("kafka://{servers}/{}", broker.name(topic));
    let line = |servers: &str| {
        format!(
            "stream --train {} --query {} -o {} --keys 400 --fpr 1e-9 --kafka-config kafka.properties --kafka-timeout 20s",
            url(servers, "train"),
            url(servers, "ask"),
            url(servers, "seen")
        )
    };
    properties(&folder, &ca, &password);
    folder.ok(&format!("{} --state run", line(&safe)));
    folder.write("train.txt", train.join("\n"));
    folder.ok("build train.txt --keys 400 --fpr 1e-9 -o built.tamis");
    assert!(folder.read("run/filter.tamis") == folder.read("built.tamis"));
    assert_eq!(broker.sorted("seen").len(), 10);

    // Of an output alone, too: there a producer is refused, and not a reader.
    let writing = format!(
        "stream --train train.txt --query train.txt -o {} --keys 400 --kafka-config kafka.properties",
        url(&safe, "seen")
    );
    let refused = |says: &str| {
        for line in
            [format!("{} --state other", line(&safe)), format!("{writing} --state third"), writing.clone()]
        {
            let done = folder.run(&line);
            done.refused(&line, 1, &["the connection was refused", says, "check the user, the password"]);
            assert!(!done.err.contains(&password), "{}", done.err);
        }
    };
    properties(&folder, &ca, "wrong");
    refused("Authentication failed");
    properties(&folder, &other, &password);
    refused("certificate verify failed");
    // The plain port knows no TLS, and the other no client without.
    properties(&folder, &ca, &password);
    let plain = servers::setting("TAMIS_KAFKA");
    let line = |servers: &str, more: &str| {
        format!("stream --train {} --keys 400 --kafka-timeout 3s --state s {more}", url(servers, "train"))
    };
    let done = folder.run(&line(&plain, "--kafka-config kafka.properties"));
    done.refused("TLS to the plain port", 1, &["no broker has answered for 3 s", "SSL_HANDSHAKE"]);
    let done = folder.run(&line(&safe, ""));
    done.refused(
        "no TLS to the port that has it",
        1,
        &["no broker has answered for 3 s", "security.protocol"],
    );
}
