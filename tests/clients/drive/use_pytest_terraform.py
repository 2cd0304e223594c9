"""A test that uses pytest-terraform: one root module, applied for the test."""

from pytest_terraform import terraform


@terraform("things", scope="session")
def test_things(things):
    assert things["terraform_data.a.output"]["value"] == "one"
    assert things.outputs["name"]["value"] == "one"
