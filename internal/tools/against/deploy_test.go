package against

// deploy/: the dashboard and the alert rules parse, and ask for metrics and labels that there are.

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oasdiff/yaml"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/stepwell/stepwell/observe"
	"github.com/stepwell/stepwell/telemetry"
	"github.com/stepwell/stepwell/world"
)

// stuck is a world with two runs, one of which is blocked.
type stuck struct{ world.World }

func (stuck) Stats(context.Context) (world.Stats, error) {
	return world.Stats{Workflows: []world.WorkflowStats{{Workflow: "w", Running: 2, Blocked: 1}}}, nil
}

func (stuck) Runs(context.Context, world.RunQuery) (world.RunPage, error) {
	return world.RunPage{Runs: []world.Run{{Queue: &world.QueueRow{Blocked: &world.Block{Code: world.CodePanic}}}, {Queue: &world.QueueRow{}}}}, nil
}

// registered are the labels of all metrics by their name, as they are told when all has happened once. Buckets, sums and counts of histograms are
// metrics of their own to who asks for them.
func registered(t *testing.T) map[string][]string {
	t.Helper()
	registry := prometheus.NewRegistry()
	tel, err := telemetry.New(telemetry.Options{World: stuck{}, Registerer: registry})
	if err != nil {
		t.Fatal(err)
	}
	o, run, at := tel.Observer(), observe.Run{ID: "r", Workflow: "w", Status: world.Completed}, time.Unix(1, 0)
	o.RunStarted(run)
	o.RunEnded(run)
	o.StepRetried(observe.Step{Run: run, Name: "s"})
	o.StepEnded(observe.Step{Run: run, Name: "s", StartedAt: at, EndedAt: at})
	o.Signal(observe.Signal{Run: run, Event: "e"})
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, f := range families {
		var labels []string
		for _, l := range f.GetMetric()[0].GetLabel() {
			labels = append(labels, l.GetName())
		}
		if f.GetType() == dto.MetricType_HISTOGRAM {
			all[f.GetName()+"_bucket"] = append(slices.Clone(labels), "le")
			all[f.GetName()+"_sum"], all[f.GetName()+"_count"] = labels, labels
			continue
		}
		all[f.GetName()] = labels
	}
	return all
}

var (
	metricName = regexp.MustCompile(`\bworkflow_[a-z_]+\b`)
	selector   = regexp.MustCompile(`\b(workflow_[a-z_]+)\{([^}]*)\}`)
	matcher    = regexp.MustCompile(`([a-z_]+) *(?:=~|!~|!=|=)`)
	grouping   = regexp.MustCompile(`\bby \(([^)]*)\)`)
	shownLabel = regexp.MustCompile(`\{\{ *(?:\$labels\.)?([a-z]+) *\}\}`)
)

// checkExpr holds an expression, and what is shown of its labels, to the metrics. It returns those that it asks for.
func checkExpr(fault func(format string, args ...any), where, expr, shown string, known map[string][]string) []string {
	if strings.Count(expr, "(") != strings.Count(expr, ")") || strings.Count(expr, "{") != strings.Count(expr, "}") {
		fault("%s: brackets do not match: %s", where, expr)
	}
	names := metricName.FindAllString(selector.ReplaceAllString(expr, "$1"), -1)
	if len(names) == 0 {
		fault("%s asks for no metric: %s", where, expr)
	}
	var labels []string // that all have
	for i, name := range names {
		if known[name] == nil && name != "workflow_retention_swept_total" {
			fault("%s: there is no metric %s", where, name)
		}
		if i == 0 {
			labels = known[name]
		}
		labels = slices.DeleteFunc(slices.Clone(labels), func(l string) bool { return !slices.Contains(known[name], l) })
	}
	for _, m := range selector.FindAllStringSubmatch(expr, -1) {
		for _, l := range matcher.FindAllStringSubmatch(m[2], -1) {
			if !slices.Contains(known[m[1]], l[1]) {
				fault("%s: %s has no label %s", where, m[1], l[1])
			}
		}
	}
	var grouped []string
	for _, m := range grouping.FindAllStringSubmatch(expr, -1) {
		for l := range strings.SplitSeq(m[1], ",") {
			grouped = append(grouped, strings.TrimSpace(l))
			if !slices.Contains(labels, strings.TrimSpace(l)) {
				fault("%s: not all of %v have the label %s", where, names, l)
			}
		}
	}
	for _, m := range shownLabel.FindAllStringSubmatch(shown, -1) {
		if !slices.Contains(grouped, m[1]) {
			fault("%s shows the label %s, which is not left: %s", where, m[1], expr)
		}
	}
	return names
}

func TestDashboard(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "grafana", "stepwell.json"))
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		UID, Title string
		Panels     []struct {
			ID      int
			Title   string
			GridPos struct{ X, Y, W, H int }
			Targets []struct{ Expr, LegendFormat string }
		}
		Templating struct {
			List []struct{ Name, Definition string }
		}
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	known, used, ids, cells := registered(t), map[string]bool{}, map[int]bool{}, map[[2]int]string{}
	for _, p := range board.Panels {
		if ids[p.ID] {
			t.Errorf("panel %q: its ID is taken", p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := cells[[2]int{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q lies on %q, or outside", p.Title, other)
				}
				cells[[2]int{x, y}] = p.Title
			}
		}
		for _, target := range p.Targets {
			for _, name := range checkExpr(t.Errorf, p.Title, target.Expr, target.LegendFormat, known) {
				used[strings.TrimSuffix(name, "_bucket")] = true
			}
		}
	}
	for _, v := range board.Templating.List {
		for _, name := range metricName.FindAllString(v.Definition, -1) {
			if known[name] == nil {
				t.Errorf("variable %s: there is no metric %s", v.Name, name)
			}
		}
	}
	if board.UID == "" || len(board.Panels) < 9 || len(used) != 9 {
		t.Errorf("%q has %d panels with %d metrics, want all nine: %v", board.Title, len(board.Panels), len(used), used)
	}
}

func TestAlerts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", "prometheus", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Groups []struct {
			Name  string
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	if _, err := yaml.Unmarshal(text, &file, yaml.DecodeOpts{}); err != nil {
		t.Fatal(err)
	}
	known, seen := registered(t), map[string]bool{}
	for _, g := range file.Groups {
		for _, r := range g.Rules {
			checkExpr(t.Errorf, r.Alert, r.Expr, r.Annotations["summary"]+r.Annotations["description"], known)
			if _, err := time.ParseDuration(r.For); err != nil || seen[r.Alert] {
				t.Errorf("%s: for %q, %v, or its name is taken", r.Alert, r.For, err)
			}
			if seen[r.Alert] = true; r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s lacks a severity, a summary or a description", r.Alert)
			}
		}
	}
	for _, want := range []string{"RunsBlocked", "NoWorker", "RunsFail", "RunsPileUp", "StepsAreRetried", "IsNotScraped"} {
		if !seen["Stepwell"+want] {
			t.Errorf("there is no alert Stepwell%s", want)
		}
	}
}

// TestExpressionsAreHeldToTheMetrics: what the two tests above would find.
func TestExpressionsAreHeldToTheMetrics(t *testing.T) {
	known := registered(t)
	for expr, ok := range map[string]bool{
		`sum by (workflow) (rate(workflow_runs_started_total{workflow="a"}[5m]))`:               true,
		`sum(workflow_runs_begun_total)`:                                                        false,
		`workflow_runs_started_total{status="x"}`:                                               false,
		`sum by (step) (workflow_runs_started_total)`:                                           false,
		`workflow_run_duration_seconds`:                                                         false, // its buckets have another name
		`histogram_quantile(0.9, sum by (le) (rate(workflow_run_duration_seconds_bucket[5m])))`: true,
		`sum by (workflow (workflow_runs_started_total)`:                                        false,
	} {
		faults := 0
		checkExpr(func(string, ...any) { faults++ }, "a test", expr, "", known)
		if (faults == 0) != ok {
			t.Errorf("%s: found %d faults, want none: %v", expr, faults, ok)
		}
	}
}
