#!/usr/bin/env bash
# Clients of other languages. What is not installed is left out, and said to be.
set -uo pipefail
bin=$1
status=0
if command -v java >/dev/null && command -v mvn >/dev/null; then
  "$bin/pytest" -q tests/compat/test_java.py || status=1
else
  echo "left out: the Java client, which needs java and mvn (apt-get install default-jdk maven)"
fi
exit $status
