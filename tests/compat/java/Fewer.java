import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A topic that loses partitions under an idempotent producer with keys and a group; fails with an
 * exception. Arguments: address, topic, and the group's protocol.
 */
public class Fewer {
    static final int BEFORE = 4;
    static final int AFTER = 2;
    static final int KEYS = 20;

    static String address;
    static String topic;
    static String protocol;
    static final Set<String> acked = ConcurrentHashMap.newKeySet();
    static final Map<String, Exception> failed = new ConcurrentHashMap<>();
    static final List<String> read = Collections.synchronizedList(new ArrayList<>());
    static volatile boolean enough;

    public static void main(String[] arguments) throws Exception {
        address = arguments[0];
        topic = arguments[1];
        protocol = arguments[2];
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            admin.createTopics(List.of(new NewTopic(topic, BEFORE, (short) 1))).all().get();
            List<Thread> readers = List.of(new Thread(Fewer::consume), new Thread(Fewer::consume));
            readers.forEach(Thread::start);
            Thread writer = new Thread(Fewer::produce);
            writer.start();
            waitUntil("messages flow", () -> read.size() > 500);
            reduce(admin);
            waitUntil("there are fewer partitions", () -> partitions(admin) == AFTER);
            int seen = acked.size();
            waitUntil("messages flow again", () -> acked.size() > seen + 500);
            enough = true;
            writer.join();
            waitUntil("all is read", () -> Set.copyOf(read).containsAll(acked));
            checkRead();
        }
        System.out.println("all well");
        System.exit(0);
    }

    static void reduce(Admin admin) throws Exception {
        var resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(
                set("partitions.open", "" + AFTER), set("partitions.close.when", "drained")))).all().get();
    }

    static AlterConfigOp set(String name, String value) {
        return new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
    }

    static int partitions(Admin admin) {
        try {
            return admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size();
        } catch (InterruptedException | ExecutionException problem) {
            throw new IllegalStateException(problem);
        }
    }

    /** Each message was read once, and those of a key in the order in which they were sent. */
    static void checkRead() {
        check(Set.copyOf(read).size() == read.size(), "nothing comes twice");
        Map<String, Integer> last = new HashMap<>();
        synchronized (read) {
            for (String each : read) {
                String[] parts = each.split(":");
                int number = Integer.parseInt(parts[1]);
                check(last.getOrDefault(parts[0], -1) < number, each + " came after " + last.get(parts[0]));
                last.put(parts[0], number);
            }
        }
        failed.values().forEach(each -> check(
                each instanceof TimeoutException || each instanceof UnknownTopicOrPartitionException,
                "what was held for a vanished partition fails: " + each));
        System.err.println(acked.size() + " acked, " + failed.size() + " failed: "
                + failed.values().stream().findFirst().map(Exception::toString).orElse("none"));
    }

    static void produce() {
        Map<String, Object> settings = Map.of(
                "bootstrap.servers", address, "linger.ms", "2", "acks", "all",
                "request.timeout.ms", "3000", "delivery.timeout.ms", "6000");
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int sent = 0; !enough; sent++) {
                String key = "key " + sent % KEYS;
                String value = key + ":" + sent / KEYS;
                producer.send(new ProducerRecord<>(topic, key, value), (done, problem) -> {
                    if (problem == null) {
                        acked.add(value);
                    } else {
                        failed.put(value, problem);
                    }
                });
                pause(3);
            }
        }
    }

    static void consume() {
        Map<String, Object> settings = new HashMap<>(Map.of(
                "bootstrap.servers", address, "group.id", "readers-of-" + topic, "group.protocol", protocol,
                "auto.offset.reset", "earliest", "auto.commit.interval.ms", "200"));
        if (protocol.equals("classic")) {
            settings.put("heartbeat.interval.ms", "300");
        }
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.subscribe(List.of(topic));
            while (true) {
                for (var record : consumer.poll(Duration.ofMillis(50))) {
                    read.add(record.value());
                }
            }
        }
    }

    static void waitUntil(String what, BooleanSupplier holds) {
        long deadline = System.nanoTime() + 60_000_000_000L;
        while (!holds.getAsBoolean()) {
            check(System.nanoTime() < deadline, "in vain: " + what + "; " + acked.size() + " acked, "
                    + failed.size() + " failed, " + read.size() + " read");
            pause(20);
        }
    }

    static void pause(int ms) {
        try {
            Thread.sleep(ms);
        } catch (InterruptedException problem) {
            throw new IllegalStateException(problem);
        }
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            throw new IllegalStateException(what);
        }
    }
}
