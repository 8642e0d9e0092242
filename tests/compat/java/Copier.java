import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * Copies a topic in transactions until it is told to leave, by SIGTERM. Says when one is open and when
 * it is over; each copy has the name of its transaction and how many belong to it as a header.
 * Arguments: address, source, target, transactional id, messages of a transaction, and "classic" or
 * "consumer".
 */
public class Copier {
    static volatile boolean leaving;
    static String source;
    static String target;
    static String name;
    static int attempts;

    public static void main(String[] arguments) throws Exception {
        source = arguments[1];
        target = arguments[2];
        name = arguments[3];
        leaveWhenTold(Thread.currentThread());
        while (!leaving) {
            var producer = producer(arguments[0]);
            var consumer = consumer(arguments[0], arguments[4], arguments[5]);
            try {
                work(producer, consumer);
            } catch (KafkaException | IllegalStateException problem) {
                System.out.println("begins anew: " + problem);
            } finally {
                consumer.close();
                producer.close(Duration.ofSeconds(3));
            }
        }
    }

    static void leaveWhenTold(Thread working) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            leaving = true;
            try {
                working.join();
                Runtime.getRuntime().halt(0);
            } catch (InterruptedException problem) {
                Runtime.getRuntime().halt(1);
            }
        }));
    }

    static void work(KafkaProducer<String, String> producer, KafkaConsumer<String, String> consumer) {
        producer.initTransactions();
        consumer.subscribe(List.of(source));
        System.out.println("ready");
        while (!leaving) {
            var records = consumer.poll(Duration.ofMillis(200));
            if (!records.isEmpty()) {
                copy(producer, consumer, records);
            }
        }
    }

    /** What cannot be aborted is thrown: whoever begins anew under this name aborts it. */
    static void copy(
            KafkaProducer<String, String> producer,
            KafkaConsumer<String, String> consumer,
            ConsumerRecords<String, String> records) {
        String attempt = name + "-" + ProcessHandle.current().pid() + "-" + attempts++;
        String all = attempt + " " + records.count();
        producer.beginTransaction();
        try {
            for (ConsumerRecord<String, String> each : records) {
                var made = new ProducerRecord<>(target, each.key(), each.value());
                made.headers().add("attempt", all.getBytes());
                producer.send(made);
            }
            producer.flush();  // so that who is killed now has written something that does not count
            System.out.println("open " + all);
            producer.sendOffsetsToTransaction(records.nextOffsets(), consumer.groupMetadata());
            producer.commitTransaction();
            System.out.println("committed " + all);
        } catch (KafkaException problem) {
            producer.abortTransaction();
            rewind(consumer);
            System.out.println("aborted " + all);
        }
    }

    static void rewind(KafkaConsumer<String, String> consumer) {
        consumer.committed(consumer.assignment()).forEach((place, committed) ->
            consumer.seek(place, committed == null ? 0 : committed.offset()));
    }

    static KafkaProducer<String, String> producer(String address) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", address, "transactional.id", name, "transaction.timeout.ms", "10000",
            "delivery.timeout.ms", "9000", "request.timeout.ms", "3000", "reconnect.backoff.max.ms", "200");
        return new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
    }

    static KafkaConsumer<String, String> consumer(String address, String size, String protocol) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", address, "group.id", "copies-" + source, "group.protocol", protocol,
            "enable.auto.commit", "false", "auto.offset.reset", "earliest", "max.poll.records", size,
            "isolation.level", "read_committed", "request.timeout.ms", "5000",
            "reconnect.backoff.max.ms", "200"));
        if (protocol.equals("classic")) {
            settings.putAll(Map.of("session.timeout.ms", "3000", "heartbeat.interval.ms", "300"));
        }
        return new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
    }
}
