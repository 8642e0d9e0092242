// A producer and a group of two at work, for as long as they are told to; says on standard output
// what becomes of each message. Arguments: address, topic, and "classic" or "consumer". Standard
// input: "pile" sends many at once, "stop" sends no more, and its end makes the members leave.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	keys = 8
	pile = 10000 // 2,000 are acked before anybody has heard that they were sent
)

var say = func() func(string, ...any) {
	var mutex sync.Mutex
	return func(format string, facts ...any) {
		mutex.Lock()
		defer mutex.Unlock()
		fmt.Printf(format+"\n", facts...)
	}
}()

func options(more ...kgo.Opt) []kgo.Opt {
	return append(more,
		kgo.SeedBrokers(strings.Split(os.Args[1], ",")...),
		kgo.MetadataMinAge(100*time.Millisecond),
		kgo.RequestTimeoutOverhead(3*time.Second),
		kgo.RetryBackoffFn(func(int) time.Duration { return 50 * time.Millisecond }),
	)
}

func open(more ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(options(more...)...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return client
}

// sender sends messages one by one, and notes how many they were.
type sender struct {
	client *kgo.Client
	mutex  sync.Mutex
	sent   int
}

func (s *sender) send() {
	key, number := s.sent%keys, s.sent/keys
	s.sent++
	record := kgo.KeyStringRecord(fmt.Sprint(key), fmt.Sprint(number))
	s.client.Produce(context.Background(), record, func(record *kgo.Record, err error) {
		if err != nil {
			say("failed %d %d %v", key, number, err)
			return
		}
		say("acked %d %d %d %d", key, number, record.Partition, record.Offset)
	})
}

func (s *sender) sendMany(count int) int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for range count {
		s.send()
	}
	return s.sent
}

func (s *sender) keepSending(stopped <-chan struct{}) {
	for {
		select {
		case <-stopped:
			return
		case <-time.After(3 * time.Millisecond):
			s.sendMany(1)
		}
	}
}

// member is a consumer that commits what it has processed.
type member struct {
	name string
	ends map[int32]int64
}

func (m *member) tell(what string, partitions map[string][]int32) {
	line := what + " " + m.name
	for _, number := range partitions[os.Args[2]] {
		line += fmt.Sprintf(" %d", number)
	}
	say("%s", line)
}

func (m *member) gaveUp(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
	for _, number := range partitions[os.Args[2]] {
		delete(m.ends, number)
	}
	m.tell("revoked", partitions)
}

// commit may fail without a coordinator, or in the middle of a rebalance; the next one makes up for it.
func (m *member) commit(client *kgo.Client) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := client.CommitUncommittedOffsets(ctx); err != nil {
		fmt.Fprintln(os.Stderr, m.name, err)
		return
	}
	for partition, end := range m.ends {
		say("committed %s %d %d", m.name, partition, end)
	}
	clear(m.ends)
}

func (m *member) options() []kgo.Opt {
	more := []kgo.Opt{
		kgo.ClientID(m.name),
		kgo.ConsumerGroup("group-of-" + os.Args[2]),
		kgo.ConsumeTopics(os.Args[2]),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, partitions map[string][]int32) {
			m.tell("assigned", partitions)
		}),
		kgo.OnPartitionsRevoked(func(ctx context.Context, client *kgo.Client, partitions map[string][]int32) {
			m.commit(client)
			m.gaveUp(ctx, client, partitions)
		}),
		kgo.OnPartitionsLost(m.gaveUp),
	}
	if os.Args[3] == "consumer" {
		return append(more, kgo.ServerSideBalancer(), kgo.Balancers(kgo.StickyBalancer()))
	}
	return append(more, kgo.SessionTimeout(3*time.Second), kgo.HeartbeatInterval(300*time.Millisecond))
}

func (m *member) work(left context.Context) {
	client := open(m.options()...)
	for left.Err() == nil {
		ctx, cancel := context.WithTimeout(left, 100*time.Millisecond)
		client.PollFetches(ctx).EachRecord(func(record *kgo.Record) {
			say("processed %s %d %d %s", m.name, record.Partition, record.Offset, record.Value)
			m.ends[record.Partition] = record.Offset + 1
		})
		cancel()
		if len(m.ends) > 0 {
			m.commit(client)
		}
		client.AllowRebalance()
	}
	client.Close()
}

func main() {
	left, leave := context.WithCancel(context.Background())
	var members sync.WaitGroup
	for _, name := range []string{"one", "two"} {
		members.Go(func() { (&member{name, map[int32]int64{}}).work(left) })
	}
	producer := &sender{client: open(kgo.DefaultProduceTopic(os.Args[2]), kgo.RecordDeliveryTimeout(time.Minute))}
	stopped := make(chan struct{})
	go producer.keepSending(stopped)
	orders := bufio.NewScanner(os.Stdin)
	for orders.Scan() {
		if orders.Text() == "pile" {
			say("piled %d", producer.sendMany(pile))
			continue
		}
		close(stopped)
		producer.client.Flush(context.Background())
		say("sent %d", producer.sendMany(0))
	}
	leave()
	members.Wait()
}
