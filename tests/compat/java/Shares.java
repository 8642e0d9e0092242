import static org.apache.kafka.clients.consumer.AcknowledgeType.ACCEPT;
import static org.apache.kafka.clients.consumer.AcknowledgeType.REJECT;
import static org.apache.kafka.clients.consumer.AcknowledgeType.RELEASE;
import static org.apache.kafka.clients.consumer.AcknowledgeType.RENEW;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.ListShareGroupOffsetsSpec;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.SharePartitionOffsetInfo;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.GroupState;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Members of a share group, and who looks after it. Arguments: address, topic. */
public class Shares {
    static final int MESSAGES = 2000;
    static final Duration MOMENT = Duration.ofMillis(200);
    static final long LIMIT_MS = 90_000;

    public static void main(String[] arguments) throws Exception {
        String address = arguments[0];
        String topic = arguments[1];
        String group = topic + ".jobs";
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            admin.createTopics(List.of(new NewTopic(topic, 2, (short) 1))).all().get();
            set(admin, group, "share.auto.offset.reset", "earliest");
            produce(address, topic);
            shareAmongThree(address, topic, group);
            check(startOffsets(admin, group).values().stream().mapToLong(Long::longValue).sum() == MESSAGES);
            startOver(admin, topic, group);
            renewAndAcceptAll(address, topic, group);
            end(admin, topic, group);
        }
        System.out.println("all well");
    }

    static void set(Admin admin, String group, String name, String value) throws Exception {
        var resource = new ConfigResource(ConfigResource.Type.GROUP, group);
        var change = new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(resource, List.of(change))).all().get();
        check(admin.describeConfigs(List.of(resource)).all().get().get(resource).get(name).value().equals(value));
    }

    static void produce(String address, String topic) {
        Map<String, Object> settings = Map.of("bootstrap.servers", address, "compression.type", "lz4");
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            for (int n = 0; n < MESSAGES; n++) {
                producer.send(new ProducerRecord<>(topic, n % 2, null, "" + n));
            }
        }
    }

    static KafkaShareConsumer<String, String> member(String address, String topic, String group, String mode) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", address);
        settings.put("group.id", group);
        settings.put("share.acknowledgement.mode", mode);
        settings.put("max.poll.records", 100);
        var member = new KafkaShareConsumer<>(settings, new StringDeserializer(), new StringDeserializer());
        member.subscribe(List.of(topic));
        return member;
    }

    /** Each message is accepted by one of them; some are given back once, some are refused. */
    static void shareAmongThree(String address, String topic, String group) {
        List<KafkaShareConsumer<String, String>> members = new ArrayList<>();
        for (int n = 0; n < 3; n++) {
            members.add(member(address, topic, group, "explicit"));
        }
        Set<Integer> finished = new TreeSet<>();
        Set<Integer> givenBack = new HashSet<>();
        Set<Integer> served = new HashSet<>();
        until(() -> {
            for (int n = 0; n < members.size(); n++) {
                for (var record : members.get(n).poll(MOMENT)) {
                    served.add(n);
                    answer(members.get(n), record, finished, givenBack);
                }
                members.get(n).commitSync().values().forEach(problem -> check(problem.isEmpty()));
            }
            return finished.size() == MESSAGES;
        });
        check(served.size() == members.size());
        check(givenBack.size() == MESSAGES / 10);
        members.forEach(KafkaShareConsumer::close);
    }

    static void answer(
            KafkaShareConsumer<String, String> member,
            ConsumerRecord<String, String> record,
            Set<Integer> finished,
            Set<Integer> givenBack) {
        int number = Integer.parseInt(record.value());
        boolean isFirst = record.deliveryCount().get() == 1;
        check(isFirst != givenBack.contains(number));
        if (number % 10 == 0 && isFirst) {
            givenBack.add(number);
            member.acknowledge(record, RELEASE);
        } else {
            check(finished.add(number));
            member.acknowledge(record, number % 100 == 1 ? REJECT : ACCEPT);
        }
    }

    static void startOver(Admin admin, String topic, String group) throws Exception {
        Map<TopicPartition, Long> wanted = new HashMap<>();
        for (int n = 0; n < 2; n++) {
            wanted.put(new TopicPartition(topic, n), (long) MESSAGES / 2 - 50);
        }
        untilEmpty(admin, group);
        admin.alterShareGroupOffsets(group, wanted).all().get();
        check(startOffsets(admin, group).equals(wanted));
    }

    /** A record that was renewed is polled again, with its lock begun anew. */
    static void renewAndAcceptAll(String address, String topic, String group) {
        Set<Integer> renewed = new HashSet<>();
        Set<Integer> accepted = new TreeSet<>();
        try (var member = member(address, topic, group, "explicit")) {
            until(() -> {
                for (var record : member.poll(MOMENT)) {
                    int number = Integer.parseInt(record.value());
                    boolean isNew = renewed.add(number);
                    member.acknowledge(record, isNew ? RENEW : ACCEPT);
                    check(isNew || accepted.add(number));
                }
                member.commitSync().values().forEach(problem -> check(problem.isEmpty()));
                return accepted.size() == 100;
            });
        }
        check(accepted.iterator().next() == MESSAGES - 100);
    }

    static void end(Admin admin, String topic, String group) throws Exception {
        untilEmpty(admin, group);
        check(admin.listGroups().all().get().stream().anyMatch(each -> each.groupId().equals(group)));
        for (SharePartitionOffsetInfo each : offsets(admin, group).values()) {
            check(each.lag().get() == 0);
        }
        admin.deleteShareGroupOffsets(group, Set.of(topic)).all().get();
        check(startOffsets(admin, group).isEmpty());
        admin.deleteShareGroups(List.of(group)).all().get();
        check(admin.listGroups().all().get().stream().noneMatch(each -> each.groupId().equals(group)));
    }

    static void untilEmpty(Admin admin, String group) {
        until(() -> {
            try {
                var description = admin.describeShareGroups(List.of(group)).all().get().get(group);
                return description.groupState() == GroupState.EMPTY;
            } catch (Exception problem) {
                throw new IllegalStateException(problem);
            }
        });
    }

    static Map<TopicPartition, SharePartitionOffsetInfo> offsets(Admin admin, String group) throws Exception {
        return admin.listShareGroupOffsets(Map.of(group, new ListShareGroupOffsetsSpec()))
                .partitionsToOffsetInfo(group)
                .get();
    }

    static Map<TopicPartition, Long> startOffsets(Admin admin, String group) throws Exception {
        Map<TopicPartition, Long> found = new HashMap<>();
        offsets(admin, group).forEach((place, info) -> found.put(place, info.startOffset()));
        return found;
    }

    static void until(Supplier<Boolean> condition) {
        long end = System.currentTimeMillis() + LIMIT_MS;
        while (!condition.get()) {
            check(System.currentTimeMillis() < end);
        }
    }

    static void check(boolean holds) {
        if (!holds) {
            throw new IllegalStateException("see the line above in the trace");
        }
    }
}
