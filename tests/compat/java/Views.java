import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;
import java.util.concurrent.ExecutionException;
import java.util.stream.IntStream;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A view made, read by a consumer without a group, and by a group that goes on later where it was;
 * fails with an exception. Arguments: address, topic, the group's protocol.
 */
public class Views {
    static final int PARTITIONS = 2;

    static String address;
    static String topic;
    static String view;

    public static void main(String[] arguments) throws Exception {
        address = arguments[0];
        topic = arguments[1];
        view = topic + "-eu";
        String protocol = arguments[2];
        create();
        send(0, 300);
        List<TopicPartition> all = IntStream.range(0, PARTITIONS).mapToObj(n -> new TopicPartition(view, n)).toList();
        try (var consumer = consumer(Map.of())) {
            consumer.assign(all);
            consumer.seekToBeginning(all);
            check(read(consumer, 100), 0, 300);
            long end = consumer.endOffsets(all).values().stream().mapToLong(each -> each).sum();
            if (end != 300) throw new AssertionError("the view ends at " + end);
        }
        Map<String, Object> group = Map.of("group.id", "java-" + topic, "group.protocol", protocol);
        readAsGroup(group, 0, 300);
        send(300, 600);
        readAsGroup(group, 300, 600);
        refuseWrites();
        System.out.println("all well");
    }

    static void create() throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1))).all().get();
            var settings = Map.of("view.of", topic, "view.where", "region = 'eu'");
            var wanted = new NewTopic(view, Optional.empty(), Optional.empty()).configs(settings);
            admin.createTopics(List.of(wanted)).all().get();
        }
    }

    static void readAsGroup(Map<String, Object> group, int first, int end) {
        try (var consumer = consumer(group)) {
            consumer.subscribe(List.of(view));
            check(read(consumer, 100), first, end);
            consumer.commitSync();
        }
    }

    /** Every third is of Europe; in each partition there are some of all. */
    static void send(int first, int end) throws Exception {
        try (var producer = producer()) {
            for (int number = first; number < end; number++) {
                var record = new ProducerRecord<>(topic, number % PARTITIONS, (String) null, "" + number);
                record.headers().add("region", (number % 3 == 0 ? "eu" : "us").getBytes());
                producer.send(record);
            }
        }
    }

    static KafkaProducer<String, String> producer() {
        return new KafkaProducer<>(
                Map.of("bootstrap.servers", address, "linger.ms", 20, "compression.type", "lz4"),
                new StringSerializer(),
                new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(Map<String, Object> more) {
        var settings = new java.util.HashMap<String, Object>(more);
        settings.put("bootstrap.servers", address);
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", false);
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }

    /** So many, and whatever comes in the second after. */
    static List<Integer> read(KafkaConsumer<String, String> consumer, int count) {
        List<Integer> found = new ArrayList<>();
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (found.size() < count && System.nanoTime() < deadline) {
            for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                found.add(Integer.parseInt(record.value()));
            }
        }
        consumer.poll(Duration.ofSeconds(1)).forEach(record -> found.add(Integer.parseInt(record.value())));
        return found;
    }

    static void check(List<Integer> found, int first, int end) {
        List<Integer> expected = IntStream.range(first, end).filter(n -> n % 3 == 0).boxed().toList();
        boolean isSame = new TreeSet<>(found).equals(new TreeSet<>(expected));
        if (!isSame || found.size() != expected.size()) throw new AssertionError("read " + found);
    }

    static void refuseWrites() throws Exception {
        try (var producer = producer()) {
            producer.send(new ProducerRecord<>(view, "no")).get();
        } catch (ExecutionException refused) {
            return;
        }
        throw new AssertionError("a view was written to");
    }
}
