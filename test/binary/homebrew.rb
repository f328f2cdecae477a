# Does with a formula what Homebrew does with it: compares the checksum of the archive, unpacks it, runs `install`, puts
# the programs of the formula's `bin` into a folder, and runs its `test`. Homebrew itself is too large for a test.
#
#   ruby homebrew.rb FORMULA ARCHIVE PREFIX
require "digest"
require "fileutils"
require "open3"
require "pathname"
require "tmpdir"

# What formulas call on folders.
class Pathname
  def install(*paths)
    mkpath
    paths.flatten.each { |path| FileUtils.mv(path, self) }
  end

  def install_symlink(path)
    mkpath
    FileUtils.ln_s(path, self / path.basename)
  end
end

# The part of Homebrew's language that our formula uses. Any other word of it is a NoMethodError.
class Formula
  class << self
    %i[desc license url version sha256].each do |name|
      define_method(name) do |value = nil|
        value.nil? ? instance_variable_get("@#{name}") : instance_variable_set("@#{name}", value)
      end
    end

    def depends_on(*) = nil

    # Homebrew evaluates the block of the processor that it runs on.
    def on_intel = RbConfig::CONFIG["host_cpu"] == "x86_64" ? yield : nil

    def on_arm = RbConfig::CONFIG["host_cpu"] == "aarch64" ? yield : nil

    def service(&block) = block_given? ? @service = block : @service

    def test(&block) = block_given? ? @test = block : @test

    def inherited(formula)
      super
      Formula.given = formula
    end

    attr_accessor :given
  end

  attr_reader :prefix

  def initialize(prefix)
    @prefix = Pathname(prefix)
  end

  def bin = prefix / "bin"

  def libexec = prefix / "libexec"

  def version = self.class.version

  def shell_output(command)
    output, status = Open3.capture2(command)
    raise "#{command} ended with #{status.exitstatus}" unless status.success?

    output
  end

  def assert_match(expected, found)
    raise "#{found.inspect} does not contain #{expected.inspect}" unless found.include?(expected)
  end
end

# What a formula says of its service.
class Service
  attr_reader :command, :variables

  def initialize(prefix)
    @prefix = Pathname(prefix)
  end

  def opt_bin = @prefix / "bin"

  def var = @prefix / "var"

  def run(command) = @command = command

  def keep_alive(_) = nil

  def environment_variables(**variables) = @variables = variables
end

source, archive, prefix = ARGV
load File.expand_path(source)
formula = Formula.given
raise "#{formula.url} is not #{archive}" unless File.basename(formula.url) == File.basename(archive)
raise "#{archive} is damaged" unless Digest::SHA256.file(archive).hexdigest == formula.sha256

Dir.mktmpdir do |folder|
  raise "#{archive} cannot be unpacked" unless system("tar", "-xf", archive, "-C", folder)

  # Homebrew enters the folder if the archive has just one
  Dir.chdir(Dir.glob("#{folder}/*").first) { formula.new(prefix).install }
end
formula.new(prefix).instance_eval(&formula.test)
service = Service.new(prefix)
service.instance_eval(&formula.service)
raise "#{service.command.first} does not exist" unless File.executable?(service.command.first)
