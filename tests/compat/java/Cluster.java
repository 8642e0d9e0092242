import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A producer and a group of two at work, for as long as they are told to; says on standard output what
 * becomes of each message. Arguments: address, topic, and "classic" or "consumer". Standard input:
 * "pile" sends many at once, "stop" sends no more, and its end makes the members leave.
 */
public class Cluster {
    static final int KEYS = 8;
    static final int PILE = 2000;

    static String address;
    static String topic;
    static String protocol;
    static KafkaProducer<String, String> producer;
    static int sent;
    static volatile boolean stopped;
    static volatile boolean left;

    public static void main(String[] arguments) throws Exception {
        address = arguments[0];
        topic = arguments[1];
        protocol = arguments[2];
        producer = new KafkaProducer<>(Map.of(
                "bootstrap.servers", address, "enable.idempotence", "true", "acks", "all",
                "delivery.timeout.ms", "60000", "request.timeout.ms", "3000", "linger.ms", "2",
                "retry.backoff.ms", "50", "reconnect.backoff.max.ms", "200"),
                new StringSerializer(), new StringSerializer());
        List<Thread> members = List.of(new Thread(new Member("one")), new Thread(new Member("two")));
        members.forEach(Thread::start);
        Thread sending = new Thread(Cluster::keepSending);
        sending.start();
        obey(sending);
        for (Thread member : members) {
            member.join();
        }
    }

    static void obey(Thread sending) throws Exception {
        var orders = new BufferedReader(new InputStreamReader(System.in));
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            if (order.equals("pile")) {
                pile();
            } else {
                stopped = true;
                sending.join();
                producer.close();
                say("sent " + sent);
            }
        }
        left = true;
    }

    static void keepSending() {
        while (!stopped) {
            send();
            pause(3);
        }
    }

    static synchronized void pile() {
        for (int n = 0; n < PILE; n++) {
            send();
        }
        say("piled " + sent);
    }

    static synchronized void send() {
        int key = sent % KEYS;
        int number = sent / KEYS;
        sent++;
        producer.send(new ProducerRecord<>(topic, "" + key, "" + number), (where, problem) -> {
            if (problem != null) {
                say("failed " + key + " " + number + " " + problem);
            } else {
                say("acked " + key + " " + number + " " + where.partition() + " " + where.offset());
            }
        });
    }

    /** A consumer in a thread of its own, that commits what it has processed. */
    static class Member implements Runnable, ConsumerRebalanceListener {
        final String name;
        final Map<Integer, Long> ends = new HashMap<>();
        KafkaConsumer<String, String> consumer;

        Member(String name) {
            this.name = name;
        }

        @Override
        public void run() {
            Map<String, Object> settings = new HashMap<>(Map.of(
                    "bootstrap.servers", address, "group.id", "group-of-" + topic, "client.id", name,
                    "enable.auto.commit", "false", "auto.offset.reset", "earliest",
                    "request.timeout.ms", "3000", "default.api.timeout.ms", "10000",
                    "retry.backoff.ms", "50", "reconnect.backoff.max.ms", "200"));
            settings.put("group.protocol", protocol);
            if (protocol.equals("classic")) {
                settings.put("session.timeout.ms", "3000");
                settings.put("heartbeat.interval.ms", "300");
                settings.put("partition.assignment.strategy",
                        "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");
            }
            try (var opened = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
                consumer = opened;
                consumer.subscribe(List.of(topic), this);
                while (!left) {
                    process();
                    commit();
                }
            } catch (Exception problem) {
                say("failed " + name + " " + problem);
            }
        }

        void process() {
            for (var record : consumer.poll(Duration.ofMillis(100))) {
                say("processed " + name + " " + record.partition() + " " + record.offset() + " " + record.value());
                ends.put(record.partition(), record.offset() + 1);
            }
        }

        /** Without a coordinator, or in the middle of a rebalance, it may fail; the next one makes up for it. */
        void commit() {
            try {
                consumer.commitSync();
                ends.forEach((partition, end) -> say("committed " + name + " " + partition + " " + end));
                ends.clear();
            } catch (KafkaException problem) {
                System.err.println(name + ": " + problem);
            }
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            tell("assigned", partitions);
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            commit();
            onPartitionsLost(partitions);
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            partitions.forEach(place -> ends.remove(place.partition()));
            tell("revoked", partitions);
        }

        void tell(String what, Collection<TopicPartition> partitions) {
            String numbers = partitions.stream().map(each -> "" + each.partition()).collect(Collectors.joining(" "));
            say((what + " " + name + " " + numbers).strip());
        }
    }

    static void say(String line) {
        System.out.println(line);
    }

    static void pause(long milliseconds) {
        try {
            Thread.sleep(milliseconds);
        } catch (InterruptedException stop) {
            throw new RuntimeException(stop);
        }
    }
}
