#!/usr/bin/env bash
# Clients of other languages. What is not installed is left out, and said to be.
set -uo pipefail
bin=$1
status=0
run() {
  "$bin/pytest" -q "tests/compat/$1" || status=1
}
if command -v java >/dev/null && command -v mvn >/dev/null; then
  run test_java.py
  run test_java_fewer_partitions.py
  run test_java_exactly_once.py
  run test_spark_connector.py
else
  echo "left out: the Java client and Spark's own Kafka connector, which needs java and mvn (apt-get install default-jdk maven)"
fi
if GOTOOLCHAIN=local go -C tests/compat/go list >/dev/null 2>&1; then
  run test_go.py
else
  echo "left out: franz-go, which needs go $(sed -n 's/^go //p' tests/compat/go/go.mod) or newer"
fi
if command -v node >/dev/null && command -v npm >/dev/null; then
  run test_javascript.py
else
  echo "left out: kafkajs, which needs node and npm (apt-get install nodejs npm)"
fi
exit $status
