// What is written here and not fetched: small static programs that run in containers.
module harness.invalid/tools

go 1.26.0
