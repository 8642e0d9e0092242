// Messages that wait: delivered when they are due, read where they wait, and cancelled; fails with an
// exception. Arguments: address, topic.
const assert = require("node:assert");
const { Kafka, logLevel } = require("kafkajs");

const [address, topic] = process.argv.slice(2);
const kafka = new Kafka({ clientId: "compat", brokers: [address], logLevel: logLevel.NOTHING });

async function reader(of) {
  const found = [];
  const consumer = kafka.consumer({ groupId: `js-${of}`, maxWaitTimeInMs: 100 });
  await consumer.connect();
  await consumer.subscribe({ topic: of, fromBeginning: true });
  await consumer.run({
    eachMessage: async ({ message }) => {
      const id = message.headers["penstock-scheduled-id"];
      found.push({
        value: message.value.toString(),
        offset: message.offset,
        id: id && id.toString(),
        seen: Date.now(),
        timestamp: Number(message.timestamp),
      });
    },
  });
  return { found, consumer };
}

async function until(what, holds) {
  for (const deadline = Date.now() + 60000; !holds(); ) {
    assert(Date.now() < deadline, `in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
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
  const send = async (value, headers) =>
    (await producer.send({ topic, acks: -1, messages: [{ value, partition: 0, headers }] }))[0].baseOffset;

  await send("now", {});
  const due = Date.now() + 3000;
  const later = await send("later", { "penstock-delay-ms": "3600000" });
  const last = await send("last", { "penstock-deliver-at": `${due + 300}` });
  const soon = await send("soon", { "penstock-deliver-at": `${due}` });
  const all = await reader(topic);
  await until("three have come", () => all.found.length === 3);
  assert.deepStrictEqual(
    all.found.map(({ value, id }) => [value, id]),
    [["now", undefined], ["soon", soon], ["last", last]],
  );
  assert.deepStrictEqual(all.found.slice(1).map((each) => each.timestamp), [due, due + 300]);
  for (const each of all.found.slice(1)) assert(each.seen >= each.timestamp);

  const waiting = await reader(`${topic}.scheduled`);
  await until("what waits is read", () => waiting.found.length === 1);
  assert.deepStrictEqual([waiting.found[0].value, waiting.found[0].offset], ["later", later]);
  await send(null, { "penstock-cancel": later });
  await assert.rejects(send(null, { "penstock-cancel": later }));
  await assert.rejects(send("wrong", { "penstock-delay-ms": "soon" }));
  await send("end", {});
  await until("it goes on", () => all.found.length === 4);
  assert.strictEqual(all.found[3].value, "end");
  for (const each of [all.consumer, waiting.consumer, producer, admin]) await each.disconnect();
  console.log("all well");
}

main();
