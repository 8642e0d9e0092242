import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Runs one exercise against a broker, and fails with an exception. Arguments: address, topic. */
public class Compat {
    static final int MESSAGES = 5000;
    static final List<String> CODECS = List.of("none", "gzip", "snappy", "lz4", "zstd");

    public static void main(String[] arguments) throws Exception {
        String address = arguments[0];
        String topic = arguments[1];
        administrate(address, topic);
        for (String codec : CODECS) {
            produce(address, topic, codec);
        }
        consume(address, topic);
        truncate(address, topic);
        System.out.println("all well");
    }

    static void administrate(String address, String topic) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            NewTopic wanted = new NewTopic(topic, 2, (short) 1).configs(Map.of("retention.ms", "3600000"));
            admin.createTopics(List.of(wanted)).all().get();
            admin.createPartitions(Map.of(topic, NewPartitions.increaseTo(3))).all().get();
            check(admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().size() == 3);
            ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
            var config = admin.describeConfigs(List.of(resource)).all().get().get(resource);
            check(config.get("retention.ms").value().equals("3600000"));
            check(admin.describeCluster().nodes().get().size() == 1);
            check(admin.describeFeatures().featureMetadata().get().finalizedFeatures().containsKey("penstock.version"));
        }
    }

    static void produce(String address, String topic, String codec) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", address, "compression.type", codec);
        try (var producer = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer())) {
            List<Future<RecordMetadata>> sent = new ArrayList<>();
            for (int n = 0; n < MESSAGES; n++) {
                var record = new ProducerRecord<>(topic, "key-" + n % 50, codec + " " + n);
                record.headers().add("codec", codec.getBytes());
                sent.add(producer.send(record));
            }
            producer.flush();
            for (Future<RecordMetadata> each : sent) {
                check(each.get().hasOffset());
            }
        }
    }

    static void consume(String address, String topic) {
        List<TopicPartition> partitions = partitions(topic);
        Map<String, Object> settings = Map.of("bootstrap.servers", address, "enable.auto.commit", "false");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<String, Integer> last = new HashMap<>();
            int read = 0;
            while (read < MESSAGES * CODECS.size()) {
                for (var record : consumer.poll(Duration.ofSeconds(20))) {
                    String[] value = record.value().split(" ");
                    check(new String(record.headers().lastHeader("codec").value()).equals(value[0]));
                    int number = Integer.parseInt(value[1]);
                    Integer before = last.put(record.key() + value[0], number);
                    check(before == null || before < number);
                    read++;
                }
            }
            long end = consumer.endOffsets(partitions).values().stream().mapToLong(Long::longValue).sum();
            check(end == read);
            check(consumer.offsetsForTimes(Map.of(partitions.get(0), 1L)).get(partitions.get(0)).offset() == 0);
        }
    }

    static void truncate(String address, String topic) throws Exception {
        try (Admin admin = Admin.create(Map.of("bootstrap.servers", address))) {
            TopicPartition first = partitions(topic).get(0);
            var deleted = admin.deleteRecords(Map.of(first, RecordsToDelete.beforeOffset(10)));
            check(deleted.lowWatermarks().get(first).get().lowWatermark() == 10);
            admin.deleteTopics(List.of(topic)).all().get();
            check(!admin.listTopics().names().get().contains(topic));
        }
    }

    static List<TopicPartition> partitions(String topic) {
        List<TopicPartition> partitions = new ArrayList<>();
        for (int index = 0; index < 3; index++) {
            partitions.add(new TopicPartition(topic, index));
        }
        return partitions;
    }

    static void check(boolean holds) {
        if (!holds) {
            throw new AssertionError("not as it should be");
        }
    }
}
