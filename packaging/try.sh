#!/usr/bin/env bash
# Installs what ./release made and tries it. ./release --try runs this in a minimal Debian root:
#   try.sh VERSION TARGET
set -euo pipefail
version=$1
triple=$2
dist=$(cd "$(dirname "$0")" && pwd)
cd "$(mktemp -d)"

fail() {
    echo "try: $1" >&2
    exit 1
}

# Runs a command that must end with this exit code.
ends() {
    local code=0 wanted=$1
    shift
    "$@" >said 2>&1 || code=$?
    ((code == wanted)) || { cat said >&2 && fail "exit code $code, not $wanted: $*"; }
}

# A command that is called like this does its job: results, exit codes, pipes.
works() {
    [[ $("$@" --version) == "tamis $version" ]] || fail "$* is of another version"
    printf 'ann\nbob\n' >keys.txt
    ends 0 "$@" build keys.txt -o keys.tamis
    ends 0 "$@" query keys.tamis ann
    ends 1 "$@" query keys.tamis zoe
    ends 1 "$@" verify keys.txt
    ends 2 "$@" build keys.txt
    [[ $(printf 'zoe\nbob\n' | "$@" filter keys.tamis - 2>/dev/null) == bob ]] || fail "$* filters nothing"
    "$@" generate ips --rows 300000 -o - | head -n 1 >/dev/null || fail "$* does not take a closed pipe"
    ends 0 "$@" demo --rows 1e4 --folder demo
    grep -q '</html>' demo/report.html || fail "$* wrote no page"
    rm -r demo keys.*
}

# Pages for all verbs lie in this folder, with this ending; and completions that bash, at least, understands.
has_pages() {
    local folder=$1 ending=$2 script=$3 verb verbs=0
    shift 3
    for verb in $("$@" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p'); do
        [[ $verb == help || -s $folder/tamis-$verb$ending ]] || fail "there is no page of $verb"
        verbs=$((verbs + 1))
    done
    ((verbs > 20)) || fail "--help lists $verbs verbs"
    bash -c 'source "$1" && complete -p tamis' bash "$script" >/dev/null || fail "$script does not complete tamis"
    echo "$verbs verbs have pages"
}

echo "-- the archive"
tar -xzf "$dist/tamis-$version-$triple.tar.gz"
folder=$PWD/tamis-$version-$triple
works "$folder/tamis"
has_pages "$folder/man" .1 "$folder/completions/tamis" "$folder/tamis"
for file in README.md LICENSE LICENSE-MIT LICENSE-APACHE completions/_tamis completions/tamis.fish; do
    [[ -s $folder/$file ]] || fail "the archive has no $file"
done

echo "-- the deb"
dpkg --install "$dist"/tamis_*.deb >/dev/null
works tamis
has_pages /usr/share/man/man1 .1.gz /usr/share/bash-completion/completions/tamis tamis
gzip -dc /usr/share/man/man1/tamis-build.1.gz | grep -q '^\.TH tamis-build' || fail "the page of build is damaged"
dpkg --listfiles tamis >files
for file in zsh/vendor-completions/_tamis fish/vendor_completions.d/tamis.fish doc/tamis/copyright; do
    grep -qx "/usr/share/$file" files || fail "the deb has no $file"
done
dpkg --purge tamis >/dev/null
! hash -r 2>/dev/null || ! command -v tamis >/dev/null || fail "the deb leaves a program behind"

echo "-- the wheel"
python3 -m venv venv
venv/bin/pip install --quiet --disable-pip-version-check --no-index "$dist"/tamis-*.whl
works venv/bin/tamis
works venv/bin/python -m tamis
venv/bin/python - <<'PYTHON'
import importlib.metadata
import tamis

users = tamis.build({"id": ["ann", "bob"]}, key="id")
assert users.contains(["ann", "bob"]) == [True, True]
users.save("users.tamis")
assert importlib.metadata.version("tamis") == tamis.__version__
PYTHON
ends 0 venv/bin/tamis query users.tamis ann
# Ctrl-C, while it waits for input.
mkfifo pipe
exec 3<>pipe
python3 -c 'import signal, os, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])' \
    venv/bin/tamis build - -o never.tamis <pipe 2>said &
until [[ $(sed -n 's/^SigCgt:\t//p' "/proc/$!/status") =~ [4-7c-f]...$ ]]; do sleep 0.1; done
kill -INT $!
code=0
wait $! || code=$?
((code == 130)) && grep -q '^error: interrupted' said || fail "Ctrl-C ended it with $code: $(cat said)"
[[ ! -e never.tamis ]] || fail "an interrupted job left a file"
echo "all of it works"
