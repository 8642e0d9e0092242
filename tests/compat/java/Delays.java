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
import org.apache.kafka.common.InvalidRecordException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Messages that wait: delivered when they are due, also those of a transaction, read where they wait, and
 * cancelled; fails with an exception. Arguments: address, topic.
 */
public class Delays {
    static String address;
    static String topic;

    public static void main(String[] arguments) throws Exception {
        address = arguments[0];
        topic = arguments[1];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            var settings = Map.of("delayed.delivery", "true");
            admin.createTopics(List.of(new NewTopic(topic, 1, (short) 1).configs(settings))).all().get();
        }
        try (var producer = producer(Map.of());
                var transactional = producer(Map.of("transactional.id", topic));
                var consumer = consumer(topic)) {
            transactional.initTransactions();
            long due = System.currentTimeMillis() + 3000;
            long later = send(producer, "later", "penstock-delay-ms", "3600000");
            long last = send(producer, "last", "penstock-deliver-at", "" + (due + 300));
            transactional.beginTransaction();
            send(transactional, "aborted", "penstock-deliver-at", "" + due);
            transactional.abortTransaction();
            transactional.beginTransaction();
            long soon = send(transactional, "soon", "penstock-deliver-at", "" + due);
            transactional.commitTransaction();

            var found = read(consumer, 2);
            check(found.get(0), "soon", due, soon);
            check(found.get(1), "last", due + 300, last);
            try (var waiting = consumer(topic + ".scheduled")) {
                var held = read(waiting, 1).get(0);
                expect(held.value().equals("later") && held.offset() == later, "waits: " + held);
            }
            send(producer, null, "penstock-cancel", "" + later);
            refused(producer, null, "penstock-cancel", "" + later, "nothing is pending under " + later);
            refused(producer, "wrong", "penstock-delay-ms", "soon", "penstock-delay-ms is not");
            send(producer, "end", "tier", "gold");
            expect(read(consumer, 1).get(0).value().equals("end"), "something else came");
        }
        System.out.println("all well");
    }

    static void check(ConsumerRecord<String, String> found, String value, long due, long id) {
        String told = new String(found.headers().lastHeader("penstock-scheduled-id").value());
        boolean isRight = found.value().equals(value) && found.timestamp() == due && told.equals("" + id);
        expect(isRight && System.currentTimeMillis() >= due, "came: " + found);
    }

    static long send(KafkaProducer<String, String> producer, String value, String header, String content)
            throws Exception {
        var record = new ProducerRecord<String, String>(topic, 0, null, value);
        record.headers().add(header, content.getBytes());
        return producer.send(record).get().offset();
    }

    static void refused(
            KafkaProducer<String, String> producer, String value, String header, String content, String words)
            throws Exception {
        try {
            send(producer, value, header, content);
        } catch (ExecutionException failure) {
            boolean isTold = failure.getCause() instanceof InvalidRecordException;
            expect(isTold && failure.getMessage().contains(words), "refused with " + failure);
            return;
        }
        throw new AssertionError(header + ": " + content + " was taken");
    }

    /** The next so many. */
    static List<ConsumerRecord<String, String>> read(KafkaConsumer<String, String> consumer, int count) {
        List<ConsumerRecord<String, String>> found = new ArrayList<>();
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (found.size() < count && System.nanoTime() < deadline) {
            consumer.poll(Duration.ofMillis(200)).forEach(found::add);
        }
        expect(found.size() == count, "read " + found);
        return found;
    }

    static void expect(boolean holds, String what) {
        if (!holds) throw new AssertionError(what);
    }

    static KafkaProducer<String, String> producer(Map<String, Object> more) {
        var settings = new java.util.HashMap<String, Object>(more);
        settings.put("bootstrap.servers", address);
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String of) {
        var settings = Map.<String, Object>of(
                "bootstrap.servers", address, "auto.offset.reset", "earliest", "isolation.level", "read_committed");
        var made = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        made.assign(List.of(new TopicPartition(of, 0)));
        made.seekToBeginning(made.assignment());
        return made;
    }
}
