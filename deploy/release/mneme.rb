class Mneme < Formula
  desc "@SUMMARY@"
  version "@VERSION@"
  url "@URL@"
  sha256 "@SHA256@"
  license "@LICENCE@"
  depends_on arch: :x86_64
  depends_on :linux

  def install
    libexec.install Dir["*"]
    bin.install_symlink libexec/"mneme"
  end

  service do
    run [opt_bin/"mneme", "serve"]
    keep_alive true
    environment_variables MNEME_DATA_DIR: var/"mneme"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/mneme version")
  end
end
