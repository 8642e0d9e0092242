// A producer and a group of two at work, for as long as they are told to; says on standard output
// what becomes of each message. Arguments: address, topic, partitions. Standard input: "pile" sends
// many at once, "stop" sends no more, and its end makes the members leave.
const readline = require("node:readline");
const { Kafka, logLevel } = require("kafkajs");

const KEYS = 8;
const PILE = 2000;
const [address, topic, partitions] = process.argv.slice(2);
const kafka = new Kafka({
  clientId: "compat",
  brokers: address.split(","),
  logLevel: logLevel.NOTHING,
  requestTimeout: 3000,
  connectionTimeout: 1000,
  retry: { retries: 200, initialRetryTime: 50, maxRetryTime: 300 },
});
const say = (...facts) => console.log(facts.join(" "));

// What waits for a partition goes into one request, and the next one when that is acked. Each names one
// partition only: kafkajs resolves a send without what has moved to a broker that answered already.
class Sender {
  sent = 0;
  waiting = Array.from({ length: partitions }, () => []);
  producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1 });

  add(count) {
    for (let n = 0; n < count; n++, this.sent++) {
      const key = this.sent % KEYS;
      const number = Math.floor(this.sent / KEYS);
      this.waiting[key % partitions].push({ key: `${key}`, value: `${number}`, partition: key % partitions });
    }
  }

  async run() {
    await this.producer.connect();
    const ticking = setInterval(() => this.stopped || this.add(1), 3);
    await Promise.all(this.waiting.map((queue) => this.empty(queue)));
    clearInterval(ticking);
    await this.producer.disconnect();
  }

  async empty(queue) {
    while (!this.stopped || queue.length) {
      await new Promise((done) => setTimeout(done, 2));
      if (queue.length) await this.send(queue.splice(0));
    }
  }

  async send(messages) {
    let answers = [];
    while (!answers.length) {
      // Nothing is sent, and nothing said, while a partition has no leader.
      answers = await this.producer.send({ topic, acks: -1, messages });
    }
    const [{ partition, baseOffset }] = answers;
    messages.forEach((each, n) => say("acked", each.key, each.value, partition, Number(baseOffset) + n));
  }
}

// A consumer that commits what it has processed.
class Member {
  constructor(name) {
    this.name = name;
    this.consumer = kafka.consumer({
      groupId: `group-of-${topic}`,
      sessionTimeout: 3000,
      heartbeatInterval: 300,
      maxWaitTimeInMs: 100,
      metadataMaxAge: 1000,
    });
    const { GROUP_JOIN, REBALANCING } = this.consumer.events;
    this.consumer.on(GROUP_JOIN, ({ payload }) => say("assigned", name, ...(payload.memberAssignment[topic] ?? [])));
    this.consumer.on(REBALANCING, () => say("revoked", name, ...Array(Number(partitions)).keys()));
  }

  async run() {
    await this.consumer.connect();
    await this.consumer.subscribe({ topic, fromBeginning: true });
    await this.consumer.run({ autoCommit: false, eachBatch: (given) => this.process(given) });
  }

  async process({ batch, resolveOffset, heartbeat, isRunning, isStale }) {
    let end = 0;
    for (const message of batch.messages) {
      if (!isRunning() || isStale()) break;
      say("processed", this.name, batch.partition, message.offset, message.value);
      resolveOffset(message.offset);
      end = Number(message.offset) + 1;
    }
    if (end) {
      await this.consumer.commitOffsets([{ topic, partition: batch.partition, offset: `${end}` }]);
      say("committed", this.name, batch.partition, end);
    }
    await heartbeat();
  }
}

async function main() {
  const members = [new Member("one"), new Member("two")];
  await Promise.all(members.map((each) => each.run()));
  const sender = new Sender();
  const sending = sender.run();
  for await (const order of readline.createInterface({ input: process.stdin })) {
    if (order === "pile") {
      sender.add(PILE);
      say("piled", sender.sent);
    } else {
      sender.stopped = true;
      await sending;
      say("sent", sender.sent);
    }
  }
  await Promise.all(members.map((each) => each.consumer.disconnect()));
}

main().then(() => process.exit(0), (problem) => {
  say("failed", problem);
  process.exit(1);
});
