Feature: names

  Scenario: every resource has an input
    Given I have terraform_data defined
    Then it must contain input

  Scenario: root resources have good names
    Given I have terraform_data defined
    When its address is terraform_data.a
    Then it must contain input
    And its value must match the "one" regex
