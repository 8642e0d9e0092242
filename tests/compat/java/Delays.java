import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Messages for later are sent, alone and in transactions, one is cancelled, and the others are read when
 * they are due; fails with an exception. Arguments: address, topic.
 */
public class Delays {
    static final String AT = "penstock-deliver-at";
    static final String CANCEL = "penstock-cancel";
    static final String ID = "penstock-scheduled-id";

    static String address;
    static String topic;

    public static void main(String[] arguments) throws Exception {
        address = arguments[0];
        topic = arguments[1];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            var settings = Map.of("delayed.delivery", "true");
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1).configs(settings))).all().get();
        }
        long due = System.currentTimeMillis() + 2000;
        List<Long> offsets = new ArrayList<>();
        try (var producer = producer(Map.of("compression.type", "lz4", "linger.ms", 20))) {
            List<java.util.concurrent.Future<RecordMetadata>> sent = new ArrayList<>();
            for (int n = 0; n < 50; n++) sent.add(producer.send(message("m" + n, AT, due - n)));
            for (var each : sent) offsets.add(each.get().offset());
            producer.send(message("-", CANCEL, offsets.get(0))).get();
            try {
                producer.send(message("-", CANCEL, offsets.get(0))).get();
                throw new AssertionError("it was cancelled twice");
            } catch (ExecutionException problem) {
                if (!(problem.getCause() instanceof InvalidRecordException)) throw problem;
                if (!problem.getCause().getMessage().contains("nothing is pending")) throw problem;
            }
        }
        try (var producer = producer(Map.of("transactional.id", "java-" + topic))) {
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(message("aborted", AT, due)).get();
            producer.abortTransaction();
            producer.beginTransaction();
            producer.send(message("committed", AT, due + 1)).get();
            producer.commitTransaction();
        }
        check(read(topic, 50), due, offsets);
        if (!read(topic + ".scheduled", 0).isEmpty()) throw new AssertionError("something is held still");
        System.out.println("all well");
    }

    static void check(List<ConsumerRecord<String, String>> found, long due, List<Long> offsets) {
        for (int n = 0; n < 49; n++) {
            var record = found.get(n);
            int number = 49 - n;
            if (!record.value().equals("m" + number)) throw new AssertionError(number + ": " + record);
            if (record.timestamp() != due - number) throw new AssertionError("the time of " + record);
            String id = new String(record.headers().lastHeader(ID).value(), StandardCharsets.UTF_8);
            if (Long.parseLong(id) != offsets.get(number)) throw new AssertionError("the id of " + record);
        }
        if (!found.get(49).value().equals("committed")) throw new AssertionError(found.get(49).toString());
    }

    static ProducerRecord<String, String> message(String value, String header, long number) {
        var made = new ProducerRecord<>(topic, 0, "k", value);
        made.headers().add(header, Long.toString(number).getBytes(StandardCharsets.UTF_8));
        return made;
    }

    static KafkaProducer<String, String> producer(Map<String, Object> more) {
        var settings = new java.util.HashMap<String, Object>(more);
        settings.put("bootstrap.servers", address);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    static List<ConsumerRecord<String, String>> read(String from, int count) {
        Map<String, Object> settings = Map.of("bootstrap.servers", address, "isolation.level", "read_committed");
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            var all = List.of(new TopicPartition(from, 0));
            consumer.assign(all);
            consumer.seekToBeginning(all);
            long deadline = System.currentTimeMillis() + 60_000;
            while (found.size() < count || consumer.position(all.get(0)) < consumer.endOffsets(all).get(all.get(0))) {
                if (System.currentTimeMillis() > deadline) throw new AssertionError("only " + found.size() + " came");
                consumer.poll(Duration.ofMillis(200)).forEach(found::add);
            }
        }
        return found;
    }
}
