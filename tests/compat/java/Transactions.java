import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InvalidProducerEpochException;
import org.apache.kafka.common.errors.ProducerFencedException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Transactions, and what readers see of them. Arguments: address, topic. */
public class Transactions {
    static final int PARTITIONS = 3;
    static final int TRANSACTIONS = 40;
    static final int EACH = 50;

    public static void main(String[] arguments) throws Exception {
        String address = arguments[0];
        String in = arguments[1] + "-in";
        String out = arguments[1] + "-out";
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            List<NewTopic> wanted = List.of(new NewTopic(in, PARTITIONS, (short) 1), new NewTopic(out, PARTITIONS, (short) 1));
            admin.createTopics(wanted).all().get();
            writeAndAbort(address, in);
            check(read(address, in, "read_committed").size() == TRANSACTIONS / 2 * EACH);
            check(read(address, in, "read_uncommitted").size() == TRANSACTIONS * EACH);
            copy(address, in, out);
            check(read(address, out, "read_committed").equals(read(address, in, "read_committed")));
            fence(address, out);
            check(admin.listTransactions().all().get().size() >= 2);
            var described = admin.describeTransactions(List.of("writer")).all().get().get("writer");
            check(described.state().toString().equals("CompleteAbort"));
        }
        System.out.println("all well");
    }

    static KafkaProducer<String, String> producer(String address, String id) {
        Map<String, Object> settings = Map.of("bootstrap.servers", address, "transactional.id", id);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    static void writeAndAbort(String address, String topic) throws Exception {
        try (var producer = producer(address, "writer")) {
            producer.initTransactions();
            for (int turn = 0; turn < TRANSACTIONS; turn++) {
                producer.beginTransaction();
                for (int n = 0; n < EACH; n++) {
                    producer.send(new ProducerRecord<>(topic, n % PARTITIONS, "key", turn + " " + n));
                }
                if (turn % 2 == 0) {
                    producer.commitTransaction();
                } else {
                    producer.flush();
                    producer.abortTransaction();
                }
            }
        }
    }

    /** Read, write and commit in one transaction; every other one is aborted, and done again. */
    static void copy(String address, String from, String to) throws Exception {
        int expected = TRANSACTIONS / 2 * EACH;
        try (var producer = producer(address, "copier"); var consumer = consumer(address, "copiers", "read_committed")) {
            producer.initTransactions();
            consumer.subscribe(List.of(from));
            int done = 0;
            boolean shallAbort = true;
            while (done < expected) {
                var records = consumer.poll(Duration.ofMillis(200));
                if (records.isEmpty()) {
                    continue;
                }
                producer.beginTransaction();
                Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                for (ConsumerRecord<String, String> each : records) {
                    producer.send(new ProducerRecord<>(to, each.partition(), each.key(), each.value()));
                    offsets.put(new TopicPartition(from, each.partition()), new OffsetAndMetadata(each.offset() + 1));
                }
                producer.sendOffsetsToTransaction(offsets, consumer.groupMetadata());
                if (shallAbort) {
                    producer.abortTransaction();
                    consumer.assignment().forEach(place -> back(consumer, place));
                } else {
                    producer.commitTransaction();
                    done += records.count();
                }
                shallAbort = !shallAbort;
            }
        }
    }

    static void back(KafkaConsumer<String, String> consumer, TopicPartition place) {
        OffsetAndMetadata committed = consumer.committed(java.util.Set.of(place)).get(place);
        consumer.seek(place, committed == null ? 0 : committed.offset());
    }

    static void fence(String address, String topic) throws Exception {
        try (var zombie = producer(address, "twice"); var heir = producer(address, "twice")) {
            zombie.initTransactions();
            zombie.beginTransaction();
            zombie.send(new ProducerRecord<>(topic, 0, "key", "of a zombie"));
            zombie.flush();
            heir.initTransactions();
            try {
                zombie.commitTransaction();
                throw new AssertionError("the zombie has committed");
            } catch (ProducerFencedException | InvalidProducerEpochException expected) {
                check(!read(address, topic, "read_committed").contains("of a zombie"));
            }
        }
    }

    static KafkaConsumer<String, String> consumer(String address, String group, String isolation) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", address, "group.id", group, "isolation.level", isolation,
            "enable.auto.commit", "false", "auto.offset.reset", "earliest");
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    /** All that a reader sees, partition by partition. */
    static List<String> read(String address, String topic, String isolation) {
        List<String> values = new ArrayList<>();
        try (var consumer = consumer(address, "reader", isolation)) {
            for (int index = 0; index < PARTITIONS; index++) {
                TopicPartition place = new TopicPartition(topic, index);
                consumer.assign(List.of(place));
                consumer.seekToBeginning(List.of(place));
                long end = consumer.endOffsets(List.of(place)).get(place);
                while (consumer.position(place) < end) {
                    consumer.poll(Duration.ofMillis(200)).forEach(each -> values.add(each.value()));
                }
            }
        }
        return values;
    }

    static void check(boolean isTrue) {
        if (!isTrue) {
            throw new AssertionError();
        }
    }
}
