package sqlite

import (
	"testing"

	"github.com/stepwell/stepwell/world"
)

// BenchmarkFloor writes the rows of BenchmarkCommit with nothing around them: 256 a transaction, one statement each.
func BenchmarkFloor(b *testing.B) {
	w := open(b)
	c, err := w.connect()
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = c.close() }()
	before := cpuTime()
	b.ResetTimer()
	head, body := make([]byte, 0, 1024), make([]byte, 0, 1024)
	for i := 0; i < b.N; i += 256 {
		if _, err := c.exec(begin); err != nil {
			b.Fatal(err)
		}
		for k := range int64(256) {
			step := stepCommit("r", "", 0)
			head, body, _ = world.AppendRow(head[:0], body[:0], step.ID, "build-1", step.Events[0].Time, step.Events)
			run, seq := int64(i/2560)*256+k, int64(i/256%10)*3
			if _, err := c.exec(insertLog, run, seq, int64(3), int64(1), text(head), body); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := c.exec(commit); err != nil {
			b.Fatal(err)
		}
		if i%(256*40) == 0 {
			_, _ = c.one(walPassive, func(row) error { return nil })
		}
	}
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64((cpuTime()-before).Microseconds())/float64(b.N), "µs-CPU/step")
}
