package vet

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// TestHugeCode: code that was generated is read in seconds. What grows with the square of it took minutes, each in its
// way.
func TestHugeCode(t *testing.T) {
	dir := data(t)
	many := func(n int, each func(i int) string) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(each(i))
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"chain": many(2000, func(i int) string {
			return fmt.Sprintf("func f%d(ctx stepwell.Context, n int) (int, error) { return f%d(ctx, n) }\nfunc g%d(n int) int { return g%d(n) }\n", i, i+1, i, i+1)
		}) + "func f2000(ctx stepwell.Context, n int) (int, error) { return g0(n), nil }\nfunc g2000(n int) int { return int(time.Now().Unix()) }\n",
		"table": "var table = map[string]func(stepwell.Context, int) error{\n" + many(1500, func(i int) string {
			return fmt.Sprintf("\"k%d\": func(ctx stepwell.Context, n int) error { return stepwell.Sleep(ctx, \"x\", time.Duration(n)) },\n", i)
		}) + "}\n" + many(800, func(i int) string {
			return fmt.Sprintf("func f%d(ctx stepwell.Context, n int) error { time.Sleep(1); return table[\"k%d\"](ctx, n) }\n", i, i)
		}),
		"values": "func start() int { return int(time.Now().Unix()) }\nfunc f(ctx stepwell.Context, n int) (int, error) {\nv0 := start\n" + many(1000, func(i int) string {
			return fmt.Sprintf("v%d := v%d\nif n > %d { v%d = v%d }\nn += v%d()\n", i+1, i, i, i+1, (i+1)/2, i+1)
		}) + "return n, nil\n}\n",
		"layers": many(4*40, func(i int) string {
			calls := many(40, func(j int) string {
				return fmt.Sprintf("if err := f%d(ctx); err != nil { return err }\n", (i/40+1)*40+j)
			})
			return fmt.Sprintf("func f%d(ctx stepwell.Context) error {\n%sreturn nil\n}\n", i, calls)
		}) + many(40, func(i int) string {
			return fmt.Sprintf("func f%d(ctx stepwell.Context) error { return stepwell.SleepUntil(ctx, \"x\", time.Now()) }\n", 4*40+i)
		}),
	} {
		file := filepath.Join(dir, name, name+".go")
		found := alone(t, dir, map[string]string{file: "package " + name + "\n\nimport (\n\t\"time\"\n\n\t\"github.com/stepwell/stepwell\"\n)\n\n" + text})[file]
		if len(found) == 0 {
			t.Errorf("%s: nothing was found", name)
		}
	}
}
