# A template: ./release --repository writes the formula.
class Tamis < Formula
  desc "Learn a set once, in little memory, then sieve tables and streams through it"
  homepage "@REPOSITORY@"
  url "@REPOSITORY@/releases/download/v@VERSION@/tamis-@VERSION@-source.tar.gz"
  sha256 "@SHA256@"
  license any_of: ["MIT", "Apache-2.0"]

  depends_on "rust" => :build

  def install
    system "cargo", "install", *std_cargo_args(path: "crates/cli")
    generate_completions_from_executable(bin/"tamis", "completions")
    man1.install Dir["man/*.1"]
  end

  test do
    (testpath/"keys.txt").write "ann\nbob\n"
    system bin/"tamis", "build", "keys.txt", "-o", "keys.tamis"
    system bin/"tamis", "query", "keys.tamis", "ann"
  end
end
