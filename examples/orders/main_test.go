package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepwell/stepwell"
	"github.com/stepwell/stepwell/internal/pgtest"
	"github.com/stepwell/stepwell/stepwelltest"
)

// works is set in the environment of processes that are the program itself.
const works = "STEPWELL_TEST_ORDERS"

func TestMain(m *testing.M) {
	if os.Getenv(works) != "" {
		main()
		return
	}
	pgtest.Main(m, pgtest.Config{NoSync: true})
}

var (
	lamp  = Order{ID: "7", Customer: "ann", Cents: 4_900, To: "Oslo"}
	piano = Order{ID: "8", Customer: "ann", Cents: 490_000, To: "Oslo"}
)

// shop is one where the bank gives receipts.
func shop(t *testing.T) *stepwelltest.Env {
	env := stepwelltest.New(t, definitions...)
	stepwelltest.Return(env, "charge", "r")
	return env
}

func TestASmallOrderIsShipped(t *testing.T) {
	env := shop(t)
	run := stepwelltest.Start(env, Buy, lamp)
	if got, want := run.MustComplete(), (Result{Outcome: "shipped", Receipt: "r"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	run.WantSteps("reserve", "charge", "ship")
	env.CrashEverywhere()
}

func TestALargeOrderIsShippedWhenSomebodySaysYes(t *testing.T) {
	env := shop(t)
	run := stepwelltest.Start(env, Buy, piano)
	env.Advance(30 * time.Hour)
	run.WantSteps("reserve", "ask", "remind")
	stepwelltest.Send(run, Approval, Decision{OK: true})
	if got, want := run.MustComplete(), (Result{Outcome: "shipped", Receipt: "r"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	run.WantSteps("reserve", "ask", "remind", "charge", "ship")
	env.CrashEverywhere()
}

func TestANoReleasesAndChargesNothing(t *testing.T) {
	env := shop(t)
	run := stepwelltest.Start(env, Buy, piano)
	stepwelltest.Send(run, Approval, Decision{})
	if got, want := run.MustComplete(), (Result{Outcome: "refused"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	run.WantSteps("reserve", "ask", "release")
	env.CrashEverywhere()
}

func TestWhereNobodyAnswersItRemindsTwiceAndRefuses(t *testing.T) {
	env := shop(t)
	begun := env.Now()
	run := stepwelltest.Start(env, Buy, piano)
	for _, at := range []struct {
		hours int
		steps []string
	}{
		{23, []string{"reserve", "ask"}},
		{24, []string{"reserve", "ask", "remind"}},
		{47, []string{"reserve", "ask", "remind"}},
		{48, []string{"reserve", "ask", "remind", "remind"}},
		{71, []string{"reserve", "ask", "remind", "remind"}},
		{72, []string{"reserve", "ask", "remind", "remind", "release"}},
	} {
		env.Advance(begun.Add(time.Duration(at.hours) * time.Hour).Sub(env.Now()))
		run.WantSteps(at.steps...)
	}
	if got, want := run.MustComplete(), (Result{Outcome: "refused"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	env.CrashEverywhere()
}

func TestWhereShippingFailsItRefundsThenReleases(t *testing.T) {
	env := shop(t)
	env.Fail("ship", ErrNoCourier)
	run := stepwelltest.Start(env, Buy, lamp)
	if err := run.MustFail(); !errors.Is(err, ErrNoCourier) {
		t.Errorf("got %v, want ErrNoCourier", err)
	}
	run.WantSteps("reserve", "charge", "ship", "refund", "release")
	env.CrashEverywhere()
}

func TestWhereTheAnswerOfTheBankIsLostItRefunds(t *testing.T) {
	env := shop(t)
	env.Fail("charge", errors.New("no answer"))
	run := stepwelltest.Start(env, Buy, lamp)
	run.MustFail()
	run.WantSteps("reserve", "charge", "refund", "release")
	env.CrashEverywhere()
}

func TestTwoOrdersOfACustomerAreUnderWayAtOnce(t *testing.T) {
	env := shop(t)
	first, second := stepwelltest.Start(env, Buy, piano), stepwelltest.Start(env, Buy, piano)
	third := stepwelltest.Start(env, Buy, piano)
	bob := stepwelltest.Start(env, Buy, Order{Customer: "bob", Cents: 490_000})
	env.Advance(time.Hour)
	first.WantSteps("reserve", "ask")
	second.WantSteps("reserve", "ask")
	third.WantSteps()
	bob.WantSteps("reserve", "ask")
	stepwelltest.Send(second, Approval, Decision{OK: true})
	second.WantSteps("reserve", "ask", "charge", "ship")
	third.WantSteps("reserve", "ask")
	for _, run := range []*stepwelltest.Run[Result]{first, second, third, bob} {
		run.MustComplete()
	}
	env.CrashEverywhere()
}

// TestKilled kills the program with SIGKILL each time it does something for the first time: for an order that nobody can ship, which is
// asked about, charged, refunded and released, and no courier is the error.
func TestKilled(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]func(t *testing.T) string{
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "orders.db") },
		"postgres": func(t *testing.T) string { return pgtest.URL(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := url(t)
			w, err := stepwell.Open(t.Context(), url)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			client, err := stepwell.New(w, stepwell.Config{Definitions: definitions}) // it does not run: it only asks
			if err != nil {
				t.Fatal(err)
			}
			order := Order{ID: "9", Customer: "ann", Cents: 490_000, To: "Moon"}
			for range 2 { // the second is the same
				if err := start(t.Context(), client, order); err != nil {
					t.Fatal(err)
				}
			}
			var did []string
			for len(did) < 5 {
				did = append(did, killAtNews(t, url, did)...)
				if did[len(did)-1] == "ask 9" {
					if err := answer(t.Context(), client, order.ID, Decision{OK: true}); err != nil {
						t.Fatal(err)
					}
				}
			}
			if want := []string{"reserve 9", "ask 9", "charge 9", "refund 9", "release 9"}; !slices.Equal(did, want) {
				t.Errorf("got %q, want %q", did, want)
			}
			begin(t, url)
			run, err := Buy.Start(t.Context(), client, order, stepwell.RunID(order.ID), stepwell.Key(order.ID))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run.Result(t.Context()); !errors.Is(err, ErrNoCourier) {
				t.Errorf("got %v, want ErrNoCourier", err)
			}
		})
	}
}

// killAtNews runs the program until it has done something that it had not, kills it, and returns what was new.
func killAtNews(t *testing.T, url string, did []string) (news []string) {
	t.Helper()
	program, said := begin(t, url)
	for said.Scan() {
		if line := said.Text(); !slices.Contains(did, line) && !slices.Contains(news, line) {
			news = append(news, line)
			_ = program.Process.Kill() // what it has said before it died is read to the end
		}
	}
	if len(news) == 0 {
		t.Fatalf("it ended and did nothing after %s", strings.Join(did, ", "))
	}
	return news
}

// begin starts the program. It is killed when the test is over.
func begin(t *testing.T, url string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), works+"=1", "STEPWELL_DB="+url, "STEPWELL_LEASE=1s")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd, bufio.NewScanner(out)
}
