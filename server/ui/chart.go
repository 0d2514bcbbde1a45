package ui

// This file counts the runs that began lately, for the charts of the first page: by when they began, and how they stand now. It reads the newest runs, a
// bounded number, so that it says the same after a restart and on every server; where there are more in the time that is asked for, the charts begin
// later, and say so. What was counted is kept for a few seconds, for all who look.

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// Bounds of what is counted.
const (
	countedRuns  = 2000
	countedBytes = 16 << 20
	countedFor   = 4 * time.Second
	chartBuckets = 48
)

// windowChoice is a time that the charts can show.
type windowChoice struct {
	Name, Path string
	On         bool
	span       time.Duration
}

var windows = []windowChoice{{Name: "1 h", span: time.Hour}, {Name: "24 h", span: 24 * time.Hour}, {Name: "7 d", span: 7 * 24 * time.Hour}}

// bucket is what began in a piece of the time.
type bucket struct {
	going, completed, failed, cancelled int
}

func (b *bucket) all() int  { return b.going + b.over() }
func (b *bucket) over() int { return b.completed + b.failed + b.cancelled }

// counted are the runs of a time.
type counted struct {
	at, from, to time.Time
	buckets      [chartBuckets]bucket
	runs         int
	cut          bool // there are more, before from
}

// history keeps what was counted, by window.
type history struct {
	mu  sync.Mutex
	got map[time.Duration]*counted
}

// count reads the runs of a window.
func (u *UI) count(v *visit, span time.Duration) (*counted, error) {
	u.history.mu.Lock()
	defer u.history.mu.Unlock() // who comes meanwhile waits for the same answer
	now := time.Now()
	if c := u.history.got[span]; c != nil && now.Sub(c.at) < countedFor {
		return c, nil
	}
	c := &counted{at: now, to: v.now}
	c.from = c.to.Add(-span)
	f, cursor := stepwell.ListFilter{Since: c.from}, ""
	type created struct {
		at     time.Time
		status world.Status
	}
	var runs []created
	for bytes := 0; ; {
		page, err := u.app.Page(v.Context(), f, cursor, 200)
		if err != nil {
			return nil, err
		}
		for i := range page.Runs {
			r := &page.Runs[i]
			runs = append(runs, created{r.CreatedAt, r.Status})
			bytes += len(r.Input) + len(r.Output)
		}
		if cursor = page.Cursor; cursor == "" {
			break
		}
		if len(runs) >= countedRuns || bytes > countedBytes {
			c.cut = true
			break
		}
	}
	c.runs = len(runs)
	if c.cut && len(runs) > 0 {
		c.from = runs[len(runs)-1].at
	}
	width := max(c.to.Sub(c.from), time.Millisecond)
	for _, r := range runs {
		at := int(float64(r.at.Sub(c.from)) / float64(width) * chartBuckets)
		b := &c.buckets[min(max(at, 0), chartBuckets-1)]
		switch r.status {
		case world.Completed:
			b.completed++
		case world.Failed:
			b.failed++
		case world.Cancelled:
			b.cancelled++
		default:
			b.going++
		}
	}
	if u.history.got == nil {
		u.history.got = map[time.Duration]*counted{}
	}
	u.history.got[span] = c
	return c, nil
}

// chart is what the two charts show.
type chart struct {
	Bars     []chartBar
	Most     int // the highest bar
	Failures []failureBar
	Top      int // of their axis, in percent
	From, To *moment
	Note     string
	Runs     int
	Failed   int
	Rate     string // of failures among those that ended
	Each     string // how long a bar is
	Pace     string // how many began in a unit of time
	Rows     []chartRow
	Window   string
}

// chartBar is a piece of a bar, in units of the picture.
type chartBar struct {
	X, Y, W, H string
	Class      string
	Title      string
}

// failureBar is the share of failures in a piece of time.
type failureBar struct {
	X, Y, W, H string
	Title      string
}

// chartRow is the same for who reads numbers.
type chartRow struct {
	At                                  string
	Going, Completed, Failed, Cancelled int
}

// The pictures' size, in their own units.
const (
	chartWidth    = 960
	chartHeight   = 160
	failureHeight = 60
)

func (u *UI) chart(v *visit) (*chart, []windowChoice, error) {
	choices := make([]windowChoice, len(windows))
	on := 0
	for i, w := range windows {
		w.Path = Base + "?window=" + strconv.Itoa(int(w.span/time.Hour))
		if v.URL.Query().Get("window") == strconv.Itoa(int(w.span/time.Hour)) {
			on = i
		}
		choices[i] = w
	}
	choices[on].On = true
	c, err := u.count(v, choices[on].span)
	if err != nil {
		return nil, nil, err
	}
	return drawChart(v, c, choices[on].Name), choices, nil
}

// pace is how many runs began in a second, a minute or an hour, whichever gives a number that can be imagined.
func pace(c *counted) string {
	span := c.to.Sub(c.from)
	if c.runs < 2 || span <= 0 {
		return ""
	}
	for _, unit := range []struct {
		d    time.Duration
		name string
	}{{time.Second, "a second"}, {time.Minute, "a minute"}, {time.Hour, "an hour"}, {24 * time.Hour, "a day"}} {
		if n := float64(c.runs) * float64(unit.d) / float64(span); n >= 1 {
			return fmt.Sprintf("%.0f %s", n, unit.name)
		}
	}
	return ""
}

func drawChart(v *visit, c *counted, window string) *chart {
	p := &chart{From: v.moment(c.from), To: v.moment(c.to), Runs: c.runs, Window: window}
	each := c.to.Sub(c.from) / chartBuckets
	p.Each, p.Pace = human.Span(each), pace(c)
	if c.cut {
		p.Note = fmt.Sprintf("More runs began in this time than are counted here: these are the newest %d.", c.runs)
	}
	for i := range c.buckets {
		p.Most = max(p.Most, c.buckets[i].all())
	}
	p.Top = 100
	for _, top := range []int{50, 25, 10} {
		if !slices.ContainsFunc(c.buckets[:], func(b bucket) bool { return b.failed*100 > b.over()*top }) {
			p.Top = top
		}
	}
	unit := func(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
	const step, gap = float64(chartWidth) / chartBuckets, 3.0
	ended := 0
	for i := range c.buckets {
		b := &c.buckets[i]
		at := human.Moment(c.from.Add(time.Duration(i)*each), v.now)
		if b.all() == 0 {
			continue
		}
		title := fmt.Sprintf("%s: %d began; %d completed, %d failed, %d cancelled, %d not over", at, b.all(), b.completed, b.failed, b.cancelled, b.going)
		y := float64(chartHeight)
		for _, part := range []struct {
			n     int
			class string
		}{{b.completed, "bar-good"}, {b.cancelled, "bar-quiet"}, {b.going, "bar-busy"}, {b.failed, "bar-bad"}} {
			if part.n == 0 {
				continue
			}
			h := float64(part.n) / float64(p.Most) * (chartHeight - 4)
			h = max(h, 1.5)
			y -= h
			p.Bars = append(p.Bars, chartBar{unit(float64(i)*step + gap/2), unit(max(y, 0)), unit(step - gap), unit(h), part.class, title})
		}
		if over := b.over(); over > 0 {
			ended += over
			if b.failed > 0 {
				h := max(float64(b.failed)/float64(over)*100/float64(p.Top)*failureHeight, 2)
				p.Failures = append(p.Failures, failureBar{unit(float64(i)*step + gap/2), unit(failureHeight - h), unit(step - gap), unit(h),
					fmt.Sprintf("%s: %d of %d that ended failed", at, b.failed, over)})
			}
		}
		p.Failed += b.failed
		p.Rows = append(p.Rows, chartRow{at, b.going, b.completed, b.failed, b.cancelled})
	}
	if ended > 0 {
		p.Rate = strconv.FormatFloat(float64(p.Failed)/float64(ended)*100, 'f', 1, 64) + " %"
	}
	return p
}
