import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.BooleanSupplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.CommitFailedException;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.RebalanceInProgressException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A group whose members come and go while messages flow, and what an operator does with it; fails
 * with an exception. Arguments: address, topic, and what its consumers are: a classic assignor's
 * class, or "consumer" for the consumer protocol.
 */
public class Groups {
    static final int PARTITIONS = 6;
    static final int MESSAGES = 300;

    static String address;
    static String topic;
    static String group;
    static String kind;
    static int sent;
    static final Map<TopicPartition, String> owners = new ConcurrentHashMap<>();
    static final Map<String, Integer> processed = new ConcurrentHashMap<>();
    static final List<String> problems = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        address = arguments[0];
        topic = arguments[1];
        kind = arguments[2];
        group = "java-" + topic;
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            admin.createTopics(List.of(new NewTopic(topic, PARTITIONS, (short) 1))).all().get();
            comeAndGo(admin);
            administrate(admin);
        }
        System.out.println("all well");
    }

    static void comeAndGo(Admin admin) throws Exception {
        Member first = new Member("first");
        send(PARTITIONS);
        waitUntilProcessed();
        Member second = new Member("second");
        Member third = new Member("third");
        waitUntil("all share", () -> first.has() && second.has() && third.has() && owners.size() == PARTITIONS);
        send(PARTITIONS);
        waitUntilProcessed();
        describe(admin, 3);
        second.leave();
        waitUntil("two share", () -> first.has() && third.has() && owners.size() == PARTITIONS);
        admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(PARTITIONS + 2))).all().get();
        waitUntil("the new are shared, too", () -> owners.size() == PARTITIONS + 2);
        send(PARTITIONS + 2);
        waitUntilProcessed();
        first.leave();
        third.leave();
        check(problems.isEmpty(), problems.toString());
        check(processed.values().stream().allMatch(times -> times == 1), "nobody died, so nothing comes twice");
    }

    static void describe(Admin admin, int members) throws Exception {
        ConsumerGroupDescription found = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        check(found.groupState() == GroupState.STABLE, found.toString());
        check(found.members().size() == members, found.toString());
        check(found.members().stream().mapToInt(m -> m.assignment().topicPartitions().size()).sum() == PARTITIONS, found.toString());
        check(found.type().toString().equalsIgnoreCase(kind.equals("consumer") ? "consumer" : "classic"), found.toString());
        check(admin.listGroups().all().get().stream().anyMatch(each -> each.groupId().equals(group)), "it is listed");
    }

    static void administrate(Admin admin) throws Exception {
        var found = admin.describeConsumerGroups(List.of(group)).all().get().get(group);
        check(found.groupState() == GroupState.EMPTY, found.toString());
        var offsets = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get();
        check(offsets.values().stream().mapToLong(OffsetAndMetadata::offset).sum() == sent, offsets.toString());
        TopicPartition place = new TopicPartition(topic, 0);
        admin.alterConsumerGroupOffsets(group, Map.of(place, new OffsetAndMetadata(1, "back"))).all().get();
        var moved = admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().get(place);
        check(moved.offset() == 1 && moved.metadata().equals("back"), moved.toString());
        admin.deleteConsumerGroupOffsets(group, Set.of(place)).all().get();
        check(!admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata().get().containsKey(place), "deleted");
        var resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        var change = new AlterConfigOp(new ConfigEntry("consumer.session.timeout.ms", "50000"), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
        var config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
        check(config.get("consumer.session.timeout.ms").value().equals("50000"), config.toString());
        admin.deleteConsumerGroups(List.of(group)).all().get();
        check(admin.listGroups().all().get().stream().noneMatch(each -> each.groupId().equals(group)), "it is gone");
    }

    /** A consumer in a thread of its own, that commits what it has processed. */
    static class Member implements ConsumerRebalanceListener {
        final String name;
        final Thread thread;
        volatile boolean enough;
        KafkaConsumer<String, String> consumer;

        Member(String name) {
            this.name = name;
            this.thread = new Thread(this::run);
            thread.start();
        }

        void run() {
            Map<String, Object> settings = new HashMap<>(Map.of(
                    "bootstrap.servers", address, "group.id", group, "client.id", name,
                    "enable.auto.commit", "false", "auto.offset.reset", "earliest"));
            if (kind.equals("consumer")) {
                settings.put("group.protocol", "consumer");
            } else {
                settings.put("partition.assignment.strategy", kind);
                settings.put("heartbeat.interval.ms", "300");
                settings.put("metadata.max.age.ms", "500"); // the leader plans with what it knows of topics
            }
            try (var opened = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
                consumer = opened;
                consumer.subscribe(List.of(topic), this);
                while (!enough) {
                    for (var record : consumer.poll(Duration.ofMillis(100))) {
                        processed.merge(record.value(), 1, Integer::sum);
                    }
                    commit();
                }
            } catch (Exception problem) {
                complain(name + ": " + problem);
            }
        }

        /** In the middle of a rebalance it may fail, and is done before a partition is given up. */
        void commit() {
            try {
                consumer.commitSync();
            } catch (RebalanceInProgressException | CommitFailedException problem) {
                System.err.println(name + ": " + problem.getMessage());
            }
        }

        boolean has() {
            return owners.containsValue(name);
        }

        void leave() throws Exception {
            enough = true;
            thread.join();
        }

        @Override
        public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
            for (TopicPartition place : partitions) {
                String before = owners.put(place, name);
                if (before != null) {
                    complain(place + " has two owners: " + before + " and " + name);
                }
            }
        }

        @Override
        public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
            commit();
            partitions.forEach(place -> owners.remove(place, name));
        }

        @Override
        public void onPartitionsLost(Collection<TopicPartition> partitions) {
            complain(name + " lost " + partitions);
        }
    }

    static void send(int partitions) {
        Map<String, Object> settings = Map.of("bootstrap.servers", address);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int n = 0; n < MESSAGES; n++) {
                producer.send(new ProducerRecord<>(topic, n % partitions, null, "message " + sent++));
            }
        }
    }

    static void waitUntilProcessed() throws Exception {
        waitUntil("all is processed", () -> processed.size() == sent);
    }

    static void waitUntil(String what, BooleanSupplier holds) throws Exception {
        long deadline = System.nanoTime() + Duration.ofSeconds(60).toNanos();
        while (!holds.getAsBoolean()) {
            check(System.nanoTime() < deadline, "in vain: " + what + "; " + owners + problems);
            Thread.sleep(20);
        }
    }

    static synchronized void complain(String problem) {
        problems.add(problem);
    }

    static void check(boolean holds, String what) {
        if (!holds) {
            System.err.println(what);
            System.exit(1);
        }
    }
}
