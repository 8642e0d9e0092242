import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * Says all that it reads of a topic: key, value, partition, offset, and the header "attempt". Arguments:
 * address, topic, isolation level.
 */
public class Reader {
    public static void main(String[] arguments) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", arguments[0], "isolation.level", arguments[2],
            "auto.offset.reset", "earliest", "request.timeout.ms", "5000",
            "reconnect.backoff.max.ms", "200");
        try (var consumer = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            consumer.assign(consumer.partitionsFor(arguments[1]).stream()
                .map(each -> new TopicPartition(each.topic(), each.partition()))
                .collect(Collectors.toList()));
            while (true) {
                consumer.poll(Duration.ofMillis(200)).forEach(Reader::say);
            }
        }
    }

    static void say(ConsumerRecord<String, String> record) {
        String attempt = new String(record.headers().lastHeader("attempt").value());
        System.out.println(record.key() + " " + record.value() + " " + record.partition() + " "
            + record.offset() + " " + attempt);
    }
}
