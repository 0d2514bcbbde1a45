package postgres

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell/world/rules"
)

// hot is a statement that runs all the time, as it is called, and how many pages it may touch, however many runs sleep.
type hot struct {
	s     *statement
	with  string // what it is called with
	pages int64
	args  []any
}

// keysOf are n run keys from a first one on.
func keysOf(first, n int) []int64 { return valuesOf(n, func(i int) int64 { return int64(first + i) }) }

func textsOf(n int, format string, first int) []string {
	return valuesOf(n, func(i int) string { return fmt.Sprintf(format, first+i) })
}

// valuesOf calls f for 0 to n-1.
func valuesOf[T any](n int, f func(i int) T) (all []T) {
	for i := range n {
		all = append(all, f(i))
	}
	return all
}

func same[T any](v T, n int) []T { return slices.Repeat([]T{v}, n) }

// hots calls the hot statements for 50 runs each, a small group, over what fill has made; n sleep.
func hots(n int) []hot {
	const k = 50
	var (
		owned, due, ended, fresh = n + 1, n + filledOwned + 1, n + filledOwned + filledDue + 1, n + filledOwned + filledDue + filledEnded + 100
		mine                     = valuesOf(k, func(i int) int64 { return int64((n/4 + 1 + i) * 4) }) // of worker 1
		mail                     = valuesOf(k, func(i int) int64 { return mine[i] - int64(n) })       // in their inboxes
		one, zero                = same(int64(1), k), same(0, k)
		no, yes                  = same(false, k), same(true, k)
		none, head, body         = same[any](nil, k), same(`{"e":[]}`, k), same([]byte("body"), k)
		now                      = time.Now().UTC()
		times                    = same(now.Add(time.Hour), k)
		class, priority          = []int{1, 1, 1, 1, 3, 3, 3, 3}, []int{0, 1, 2, 3, 0, 1, 2, 3}
		mark                     = same(now.Add(-time.Minute), 8)
		nobody                   = []string{}
	)
	look := func(full, peers bool, class []int, named []string) []any {
		return []any{class, priority, mark, k, nobody, []int{}, nobody, []time.Time{}, k, full, []string{"charge"}, named, class, peers, full}
	}
	return []hot{
		// Taking: the look that finds nothing is what an idle worker costs.
		{ready, "nothing to take", 50, look(false, true, same(2, 8), nobody)},
		{ready, "much to take", 400, look(false, false, class, nobody)},
		{ready, "a notice of mail", 60, look(false, false, same(2, 8), []string{fmt.Sprint("wrun_", owned)})},
		{ready, "everything, 1,000 runs with mail", 12_000, look(true, true, class, nobody)},
		{claimRuns, "50 runs", 900, []any{keysOf(due, k), []int64{}, 1, []int{1, 3}}},
		{claimedRuns, "50 runs", 500, []any{mine, 1, shortLog}},
		{runsMail, "50 runs", 600, []any{mine, 1}},
		{lockClaim, "", 20, []any{1, 0, 1}},
		{noteClaim, "", 40, []any{1, 0, 1, "x"}},
		{claimTasks, "50 tasks", 500, []any{keysOf(1, k), zero, zero, zero, none, times, 1}},
		// Heartbeats.
		{heartbeatWorker, "", 20, []any{1, 0}},
		{seeWorker, "", 20, []any{1}},
		{endedRuns, "50 runs", 200, []any{mine}},
		{ownedMail, "all runs of a worker", 12_000, []any{1}},
		{heldTasks, "1 task", 20, []any{1, []string{fmt.Sprint("wrun_", n+2)}, []string{"step_2"}, []int{0}}},
		// A group of commits.
		{insertLog, "50 commits", 700, []any{mine, same(10, k), same(3, k), 1, head, body, one}},
		{deleteMail, "50 deliveries", 500, []any{mail, mine}},
		{lockQueue, "50 runs", 500, []any{mine, one, one}},
		{releaseQueue, "50 runs", 2_000, []any{mine, one, yes, no, times, none, no, none, body, no, one}},
		{updateQueue, "50 runs", 1_200, []any{mine, one, yes, no}},
		{mailWaits, "50 runs", 250, []any{mine}},
		{lockLanes, "2 workers", 20, []any{[]int64{1, 2}, 0}},
		{insertTotals, "", 20, []any{[]string{"w"}, []string{"running"}, []int{1}}},
		// Schedules.
		{dueSchedules, "none", 20, []any{"set", 257}},
		{dueSchedules, "257", 300, []any{"", 257}},
		{nextSchedule, "", 20, []any{""}},
		{holdSchedules, "50 schedules", 1_200, []any{"", k, 10_000_000}},
		{changeSchedules, "50 schedules", 1_200, []any{textsOf(k, "s-%d", 1), same("{}", k), zero, same("", k), times, none, one}},
		{changeSchedule, "", 40, []any{"s-7", "{}", 0, "", now, nil, 1}},
		{makeSchedule, "", 40, []any{"s-new", "{}", 0, "", now, nil, 1}},
		{findSchedules, "50 schedules", 300, []any{textsOf(k, "s-%d", 1), k}},
		{listOfSet, "100 of a set", 400, []any{"set", "", 100}},
		{listSchedules, "100", 200, []any{"s-5", 100}},
		// Births and ends.
		{insertRuns, "50 runs", 2_000, []any{keysOf(fresh, k), textsOf(k, "wrun_%d", fresh), same("w", k), one, none, one, none, none, no, times, one, none, none, none, one, yes}},
		{insertQueue, "50 runs", 1_200, []any{keysOf(fresh, k), one, no, one, none, one, none, no, no, none, no, none, same("w", k)}},
		{insertParents, "50 children", 700, []any{keysOf(fresh, k), textsOf(k, "wrun_%d", owned), same("step_1", k)}},
		{deleteQueue, "50 runs", 500, []any{mine}},
		{endRuns, "50 runs", 2_000, []any{mine, same("completed", k), one, body, none, times, one, one, none}},
		{insertResults, "50 runs that are waited for", 2_500, []any{keysOf(1, k), 1, same("x", k), head, body, head}},
		{deleteAwaits, "50 runs", 250, []any{keysOf(1, k)}},
		{deleteWaiters, "50 runs", 800, []any{keysOf(1, k)}},
		{deleteRunMail, "50 runs", 400, []any{mine}},
		{deleteRunHooks, "50 runs, whose hooks are kept as ended", 600, []any{keysOf(1, k)}},
		{deleteRunTasks, "50 runs", 400, []any{keysOf(owned, k)}},
		// Senders.
		{deliverMail, "50 runs", 2_400, []any{textsOf(k, "wrun_%d", owned), none, textsOf(k, "new%d", 1), yes, 10_000, no, none, 1, same("x", k), head, body, no, body, body, none, head, 1, 1, no}},
		{deliverMail, "50 tokens", 2_400, []any{none, textsOf(k, "token-%d", 1), textsOf(k, "new%d", 1), yes, 10_000, no, none, 1, same("x", k), head, body, no, body, body, none, head, 1, 1, no}},
		{insertSent, "50 runs", 2_500, []any{textsOf(k, "wrun_%d", owned), none, textsOf(k, "new%d", 1), no, none, yes, 1, same("x", k), head, body, head}},
		{endTask, "1 task", 60, []any{fmt.Sprint("wrun_", n+2), "step_2", "wrkr_1", 0, "result/step_2", 1, `{"e":[]}`, []byte{}, "1"}},
		// The death of a worker.
		{returnRuns, "250 runs", 12_000, []any{1, true}},
		{returnTasks, "250 tasks", 6_000, []any{1}},
		// Topics, with many publications that are kept.
		{duePublications, "nothing is due", 10, []any{1002, 1 << 21, "-infinity", 0}},
		{duePublications, "nothing is due behind a place", 10, []any{1002, 1 << 21, "2026-01-01T00:00:00Z", 1 << 40}},
		{nextPublication, "nothing is to come", 10, nil},
		{publish, "50 publications", 700, []any{same("a.1", k), none, zero, head, body, one}},
		{publishOnce, "", 30, []any{"a.1", nil, "d", 0, "{}", []byte("1"), 0}},
		{areDue, "50 publications that are not", 60, []any{keysOf(1, k)}},
		{listPublications, "the newest 50", 300, []any{1 << 60, k}},
		{findPublished, "10,000 looked at, few are for it", 1_500, []any{1 << 60, 10_000, 1_000, []string{"a.1x", "b.%"}}},
		// Looks at one run, and lists.
		{lookRun, "1 run", 40, []any{"wrun_5"}},
		{readLog, "1 run", 40, []any{"wrun_5", 0, 1000}},
		{showRun, "1 run", 40, []any{fmt.Sprint("wrun_", owned)}},
		{listRuns, "100 runs that are over", 1_500, []any{now.AddDate(1, 0, 0), 1 << 60, now.AddDate(-1, 0, 0), 0, nil, 101, false, 0}},
		{listRuns, "100 runs with a status", 3_000, []any{now.AddDate(0, 0, -29), 1 << 60, now.AddDate(-1, 0, 0), 0, []string{"running"}, 101, false, 0}},
		{listWorkflowRuns, "100 runs of a workflow", 3_000, []any{now.AddDate(0, 0, -29), 1 << 60, now.AddDate(-1, 0, 0), 0, nil, 101, "v", false, 0}},
		{edgeOfRuns, "20,000 runs", 400, []any{now.AddDate(1, 0, 0), 1 << 60, now.AddDate(-1, 0, 0), 0, rules.MostScanned}},
		{fewAttributeRuns, "many that have it", 60, []any{now.AddDate(1, 0, 0), 1 << 60, now.AddDate(-1, 0, 0), 0, few + 1, "tenant", "sa"}},
		{fewAttributeRuns, "25 that have it", 20, []any{now.AddDate(1, 0, 0), 1 << 60, now.AddDate(-1, 0, 0), 0, few + 1, "tenant", "sb"}},
		{fewWorkflowRuns, "many of it", 60, []any{now.AddDate(1, 0, 0), 1 << 60, now.AddDate(-1, 0, 0), 0, few + 1, "w"}},
		{listAttributeRuns, "25 that have it", 800, []any{now.AddDate(1, 0, 0), 1 << 60, now.AddDate(-1, 0, 0), 0, nil, few + 1, "tenant", "sb", nil}},
		{listAttributeRuns, "100 of many that have it, with a status that the newest 2,000 have not", 12_000,
			[]any{now.AddDate(0, 0, -29), 1 << 60, now.AddDate(-1, 0, 0), 0, []string{"running"}, 101, "tenant", "sa", "w"}},
		{edgeOfAttributeRuns, "20,000 that have it", 500, []any{now.AddDate(1, 0, 0), 1 << 60, now.AddDate(-1, 0, 0), 0, rules.MostScanned, "tenant", "sa"}},
		{countRuns, "1,000 changes", 40, nil},
		// Housekeeping.
		{sweepRuns, "100 runs", 2_000, []any{100}},
		{sweepLog, "50 runs", 600, []any{keysOf(ended, k)}},
		{sweepLateMail, "1,000 deliveries", 6_000, []any{0, lateMail}},
		{sumTotals, "1,000 changes", 6_000, nil},
	}
}

// testHot holds what runs all the time, as it is called, beside a snapshot that is held open.
func testHot(t *testing.T, w *World, n int) {
	p := newPlanner(t, w, "force_generic_plan")
	var plans strings.Builder
	for _, c := range hots(n) {
		name, _ := p.prepare(c.s)
		explain := func() *node {
			return p.explain(c.s, "ANALYZE, BUFFERS, TIMING off, COSTS off, SUMMARY off", name, literals(c.args))
		}
		explain()
		plan := explain() // all is in memory now, and rows are marked
		// Where others of the cluster change many tables in the moment before, as tests beside this one do, the server
		// forgets what it knows of its catalogue, and some 80 pages of that are read anew as if they were the statement's.
		for tries := 0; plan.pages() > c.pages && tries < 3; tries++ {
			plan = explain()
		}
		fmt.Fprintf(&plans, "%s: %s\n", c.s.name, c.with)
		plan.write(&plans, 1)
		got := plan.pages()
		t.Logf("%s: %s: %d pages", c.s.name, c.with, got)
		if got > c.pages {
			t.Errorf("%s: %s: got %d pages, want at most %d", c.s.name, c.with, got, c.pages)
		}
		if bad := faults(plan); len(bad) > 0 {
			t.Errorf("%s: %s: %s", c.s.name, c.with, strings.Join(bad, ", "))
		}
	}
	goldenPlans(t, p, "hot", plans.String())
}
