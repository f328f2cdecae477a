class Mneme < Formula
  desc "@SUMMARY@"
  version "@VERSION@"
  license "@LICENCE@"
  depends_on :linux
@DOWNLOADS@

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
