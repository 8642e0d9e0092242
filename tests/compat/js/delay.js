// Messages for later are sent, one is cancelled, and a group reads the others when they are due; fails
// with an exception. Arguments: address, topic.
const assert = require("node:assert");
const { Kafka, logLevel } = require("kafkajs");

const [address, topic] = process.argv.slice(2);
const kafka = new Kafka({ clientId: "compat", brokers: [address], logLevel: logLevel.NOTHING });

async function until(what, holds) {
  const deadline = Date.now() + 60_000;
  while (!holds()) {
    assert(Date.now() < deadline, `${what} did not happen`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

async function main() {
  const admin = kafka.admin();
  const producer = kafka.producer();
  await admin.connect();
  await producer.connect();
  const configEntries = [{ name: "delayed.delivery", value: "true" }];
  await admin.createTopics({
    topics: [{ topic, numPartitions: 1, replicationFactor: 1, configEntries }],
  });
  const due = Date.now() + 2000;
  const messages = Array.from({ length: 50 }, (_, n) => ({
    value: `${n}`,
    key: "k",
    headers: n % 2 ? { "penstock-deliver-at": `${due - n}`, tier: "gold" } : { tier: "none" },
  }));
  const [sent] = await producer.send({ topic, acks: -1, messages });
  const cancelled = Number(sent.baseOffset) + 1;
  await producer.send({
    topic,
    acks: -1,
    messages: [{ value: "-", headers: { "penstock-cancel": `${cancelled}` } }],
  });
  const found = [];
  const consumer = kafka.consumer({ groupId: `js-${topic}` });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  await consumer.run({ eachMessage: async ({ message }) => found.push([message, Date.now()]) });
  await until("all are delivered", () => found.length >= 49);
  const values = found.map(([message]) => Number(message.value));
  const evens = values.filter((n) => n % 2 === 0);
  const odds = values.filter((n) => n % 2 === 1);
  assert.deepStrictEqual(evens, Array.from({ length: 25 }, (_, n) => 2 * n));
  assert.deepStrictEqual(odds, Array.from({ length: 24 }, (_, n) => 49 - 2 * n));
  for (const [message, seen] of found) {
    const n = Number(message.value);
    if (n % 2 === 0) continue;
    assert.strictEqual(Number(message.timestamp), due - n);
    assert(seen >= due - n, `${n} came too early`);
    assert.strictEqual(message.headers["penstock-scheduled-id"].toString(), `${Number(sent.baseOffset) + n}`);
    assert.strictEqual(message.headers.tier.toString(), "gold");
  }
  await assert.rejects(
    producer.send({ topic, acks: -1, messages: [{ value: "-", headers: { "penstock-delay-ms": "soon" } }] }),
  );
  await consumer.disconnect();
  await producer.disconnect();
  await admin.disconnect();
  console.log("all well");
}

main();
