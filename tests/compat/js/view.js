// A view made, read by a group of two, and read on by another member later; fails with an exception.
// Arguments: address, topic.
const assert = require("node:assert");
const { Kafka, logLevel } = require("kafkajs");

const PARTITIONS = 2;
const [address, topic] = process.argv.slice(2);
const view = `${topic}-eu`;
const kafka = new Kafka({ clientId: "compat", brokers: [address], logLevel: logLevel.NOTHING });

async function create(admin) {
  await admin.createTopics({ topics: [{ topic, numPartitions: PARTITIONS, replicationFactor: 1 }] });
  const configEntries = [
    { name: "view.of", value: topic },
    { name: "view.where", value: "region = 'eu'" },
  ];
  await admin.createTopics({
    topics: [{ topic: view, numPartitions: -1, replicationFactor: -1, configEntries }],
  });
}

// Every third is of Europe; in each partition there are some of all.
async function send(producer, first, end) {
  const messages = [];
  for (let n = first; n < end; n++) {
    const region = n % 3 === 0 ? "eu" : "us";
    messages.push({ value: `${n}`, partition: n % PARTITIONS, headers: { region } });
  }
  await producer.send({ topic, acks: -1, messages });
}

function ofEurope(first, end) {
  return Array.from({ length: end - first }, (_, n) => first + n).filter((n) => n % 3 === 0);
}

class Member {
  constructor(of = view) {
    this.of = of;
    this.consumer = kafka.consumer({ groupId: `js-${of}` });
  }

  async join(found) {
    await this.consumer.connect();
    await this.consumer.subscribe({ topic: this.of, fromBeginning: true });
    await this.consumer.run({ eachMessage: async ({ message }) => found.push(Number(message.value)) });
  }
}

async function until(what, holds) {
  const deadline = Date.now() + 60_000;
  while (!holds()) {
    assert(Date.now() < deadline, `${what} did not happen`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

// More without a match than the broker goes through for one answer; no index helps with such tags.
async function reachFar(admin, producer) {
  const far = `${topic}-far`;
  const last = 80 * 1000 - 1;
  await admin.createTopics({ topics: [{ topic: far, numPartitions: 1, replicationFactor: 1 }] });
  for (let first = 0; first <= last; first += 500) {
    const some = Array.from({ length: 500 }, (_, n) => ({
      value: `${first + n}`.padEnd(1000),
      headers: { id: `${first + n}` },
    }));
    await producer.send({ topic: far, acks: 1, messages: some });
  }
  const configEntries = [
    { name: "view.of", value: far },
    { name: "view.where", value: `id = '${last}'` },
  ];
  await admin.createTopics({
    topics: [{ topic: `${far}-last`, numPartitions: -1, replicationFactor: -1, configEntries }],
  });
  const found = [];
  const member = new Member(`${far}-last`);
  await member.join(found);
  await until("the last of all is read", () => found.length > 0);
  await member.consumer.disconnect();
  assert.deepStrictEqual(found, [last]);
}

async function main() {
  const admin = kafka.admin();
  const producer = kafka.producer();
  await admin.connect();
  await producer.connect();
  await create(admin);
  await send(producer, 0, 300);
  const found = [];
  const members = [new Member(), new Member()];
  for (const member of members) await member.join(found);
  await until("all that match are read", () => found.length >= 100);
  for (const member of members) await member.consumer.disconnect();
  assert.deepStrictEqual([...new Set(found)].sort((a, b) => a - b), ofEurope(0, 300));
  await send(producer, 300, 600);
  const later = [];
  const another = new Member();
  await another.join(later);
  await until("it is read on", () => later.length >= 100);
  await another.consumer.disconnect();
  assert.deepStrictEqual(later.sort((a, b) => a - b), ofEurope(300, 600));
  await assert.rejects(producer.send({ topic: view, messages: [{ value: "no" }] }));
  await reachFar(admin, producer);
  await producer.disconnect();
  await admin.disconnect();
  console.log("all well");
}

main();
