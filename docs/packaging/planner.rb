# A Homebrew formula for a tap. The release job fills in url and sha256; `brew update-python-resources` adds the
# libraries.
class Planner < Formula
  include Language::Python::Virtualenv

  desc "Infrastructure planner that explains why"
  homepage "https://pypi.org/project/planner-iac/"
  url "https://files.pythonhosted.org/packages/source/p/planner-iac/planner_iac-0.1.0.tar.gz"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "gmp"
  depends_on "libyaml"
  depends_on "python@3.13"
  depends_on "re2"

  def install
    virtualenv_create(libexec, "python3.13").pip_install_and_link buildpath, build_isolation: true
    system bin/"planner", "docs", "-man=man1"
    man1.install Dir["man1/*.1"]
  end

  test do
    (testpath/"main.tf").write 'resource "terraform_data" "a" {}'
    assert_match "1 to add", shell_output("#{bin}/planner plan -no-color")
  end
end
