package deploy

// The chart: linted and rendered as Helm does it. No cluster is asked.

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

const (
	root  = "../../.."
	chart = root + "/deploy/helm/stepwell"
)

// filled are values as somebody would set them.
const filled = `
secret: {database: "postgres://db/stepwell", apiKey: "admin:me:0123456789abcdef0123"}
ingress: {enabled: true, host: stepwell.example.com, tlsSecret: tls, className: nginx}
workers:
  - {name: orders, image: "orders:1", replicas: 3, resources: {limits: {memory: 1Gi}}, goMemoryLimit: 920MiB, env: [{name: STEPWELL_MAX_STEPS, value: "64"}]}
  - {name: mail, image: "mail:1", replicas: 0}
`

func values(t *testing.T, text string) map[string]any {
	t.Helper()
	v := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// render returns the objects of the chart, by kind and name.
func render(t *testing.T, text string) (map[string]map[string]any, error) {
	t.Helper()
	c, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	with, err := chartutil.ToRenderValues(c, values(t, text), chartutil.ReleaseOptions{Name: "prod", Namespace: "stepwell"}, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, with)
	if err != nil {
		return nil, err
	}
	objects := map[string]map[string]any{}
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for part := range strings.SplitSeq(text, "\n---\n") {
			object := values(t, strings.TrimPrefix(part, "---\n"))
			if len(object) == 0 {
				continue
			}
			meta, _ := object["metadata"].(map[string]any)
			kind, _ := object["kind"].(string)
			called, _ := meta["name"].(string)
			objects[kind+" "+called] = object
		}
	}
	return objects, nil
}

func TestChartIsLinted(t *testing.T) {
	for _, m := range lint.All(chart, values(t, filled), "stepwell", true).Messages {
		if m.Severity >= support.WarningSev {
			t.Errorf("%s", m)
		}
	}
}

func TestChartIsRendered(t *testing.T) {
	got, err := render(t, filled)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Deployment prod-server", "Deployment prod-worker-mail", "Deployment prod-worker-orders", "Ingress prod", "PodDisruptionBudget prod-server", "Secret prod", "Service prod",
	}
	var names []string
	for name := range got {
		names = append(names, name)
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("got %v, want %v", names, want)
	}
	if replicas, _ := got["Deployment prod-worker-mail"]["spec"].(map[string]any)["replicas"].(float64); replicas != 0 {
		t.Errorf("got %v replicas, want the 0 that was said", replicas)
	}
}

// TestChartRefuses: values without a database, and workers without an image, make nothing.
func TestChartRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                      "set secret.database",
		"secret: {database: d}": "set secret.apiKey",
		"{secret: {existing: s}, workers: [{name: a}]}":                   "image",
		"{secret: {existing: s}, workers: [{name: A, image: i}]}":         "name",
		"{secret: {existing: s}, ingress: {enabled: true}}":               "set ingress.host",
		"{secret: {existing: s}, server: {replicas: none}}":               "replicas",
		"{secret: {existing: s}, workers: [{name: a, image: i, x: yes}]}": "x",
	} {
		if _, err := render(t, text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: got %v, want it to say %q", text, err, says)
		}
	}
	got, err := render(t, "secret: {existing: s}")
	if err != nil || len(got) != 3 {
		t.Errorf("with a secret that is there: got %d objects, %v, want 3", len(got), err)
	}
}

// TestChartIsThePlainManifest: what the server's and the worker's pods may do, and how they are asked, is that of kubernetes/postgres.yaml.
func TestChartIsThePlainManifest(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "deploy", "kubernetes", "postgres.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	plain := map[string]map[string]any{}
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		object := values(t, part)
		if object["kind"] == "Deployment" {
			plain[object["metadata"].(map[string]any)["name"].(string)] = object
		}
	}
	got, err := render(t, filled)
	if err != nil {
		t.Fatal(err)
	}
	for ours, theirs := range map[string]string{"Deployment prod-server": "stepwell-server", "Deployment prod-worker-orders": "stepwell-worker"} {
		a, b := pod(t, got[ours]), pod(t, plain[theirs])
		for _, key := range []string{"securityContext", "automountServiceAccountToken", "terminationGracePeriodSeconds"} {
			same(t, ours+": "+key, a[key], b[key])
		}
		x, y := a["containers"].([]any)[0].(map[string]any), b["containers"].([]any)[0].(map[string]any)
		for _, key := range []string{"args", "ports", "startupProbe", "livenessProbe", "readinessProbe", "lifecycle", "securityContext"} {
			same(t, ours+": "+key, x[key], y[key])
		}
		same(t, ours+": variables", variables(x), variables(y))
	}
}

func pod(t *testing.T, deployment map[string]any) map[string]any {
	t.Helper()
	if deployment == nil {
		t.Fatal("there is no deployment")
	}
	return deployment["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
}

// variables are the names in a container's environment.
func variables(container map[string]any) (names []string) {
	for _, e := range container["env"].([]any) {
		names = append(names, e.(map[string]any)["name"].(string))
	}
	slices.Sort(names)
	return names
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	a, _ := yaml.Marshal(got) // from YAML
	b, _ := yaml.Marshal(want)
	if string(a) != string(b) {
		t.Errorf("%s: got\n%swant\n%s", what, a, b)
	}
}

var variable = regexp.MustCompile(`\bSTEPWELL_[A-Z_]*[A-Z]\b`)

// TestVariablesAreKnown: every variable of the chart and of compose.yaml is one that a page's table has.
func TestVariablesAreKnown(t *testing.T) {
	known := ""
	for _, page := range []string{"docs/server.md", "docs/operating.md"} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		known += string(text)
	}
	files, err := filepath.Glob(chart + "/templates/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("got %v, %v", files, err)
	}
	for _, file := range append(files, chart+"/values.yaml", root+"/deploy/compose.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range variable.FindAllString(string(text), -1) {
			if !strings.Contains(known, "`"+name+"`") {
				t.Errorf("%s: no page knows %s", file, name)
			}
		}
	}
}
