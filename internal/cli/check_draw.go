package cli

// This file draws for people what a check came to: a count for each workflow and version, and what does not fit.

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/stepwell/stepwell/check"
	"github.com/stepwell/stepwell/internal/human"
	"github.com/stepwell/stepwell/world"
)

// checkResults are the columns of the table, and how they are told.
var checkResults = []check.Result{check.Fits, check.Diverged, check.Unknown, check.Failed}

func (v *verdict) draw() {
	t := &table{Gap: "  "}
	head := []cell{{Text: "WORKFLOW", Tone: dim}}
	for _, r := range checkResults {
		head = append(head, cell{Text: strings.ToUpper(string(r)), Tone: dim, Right: true})
	}
	t.Add(head...)
	byName := func(a, b world.Class) int {
		return cmp.Or(cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Version, b.Version))
	}
	for _, class := range slices.SortedFunc(maps.Keys(v.classes), byName) {
		row := []cell{{Text: className(class)}}
		for _, r := range checkResults {
			n := v.classes[class][r]
			out := cell{Text: strconv.Itoa(n), Right: true}
			if n > 0 && r != check.Fits {
				out.Tone = bad
			}
			row = append(row, out)
		}
		t.Add(row...)
	}
	t.Write(v.c.stdout, v.c.style())
	for i := range v.wrong {
		fmt.Fprintln(v.c.stdout)
		v.drawWrong(&v.wrong[i])
	}
	if more := v.bad - len(v.wrong); more > 0 {
		fmt.Fprintf(v.c.stdout, "\nand %s more that cannot go on: --json has them all\n", human.Count(more, "run"))
	}
}

func className(class world.Class) string {
	if class.Version == 0 {
		return human.Visible(class.Workflow)
	}
	return fmt.Sprintf("%s v%d", human.Visible(class.Workflow), class.Version)
}

// drawWrong tells one history that does not fit: what, which, where, and what the log and the code say.
func (v *verdict) drawWrong(is *check.Report) {
	s := v.c.style()
	line := s.Paint(bad, string(is.Check)) + "  run " + human.Visible(is.Run) + "   " + className(world.Class{Workflow: is.Workflow, Version: is.Version})
	if is.Seq > 0 {
		line += fmt.Sprintf("   event %d of %d", is.Seq, is.Events)
	}
	fmt.Fprintln(v.c.stdout, line)
	t := &table{Indent: "  ", Gap: "  ", Wrap: true}
	switch is.Check {
	case check.Diverged:
		log := cell{Text: human.Visible(is.Expected)}
		if is.Build != "" {
			log.Text += "   recorded by build " + human.Visible(is.Build)
		}
		t.Add(cell{Text: "the log has", Tone: dim}, log)
		t.Add(cell{Text: "the code asks", Tone: dim}, cell{Text: strings.TrimRight(human.Visible(is.Actual)+"   "+human.Visible(is.Where), " ")})
	default:
		first, _, _ := strings.Cut(is.Message, "\n") // a stack follows, which --json has
		t.Add(cell{Text: strings.TrimRight(human.Cut(first, 300)+"   "+human.Visible(is.Where), " ")})
	}
	t.Write(v.c.stdout, s)
}
