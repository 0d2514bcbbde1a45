package draw

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTable(t *testing.T) {
	long := "card declined by the bank of the customer, who has to be asked"
	for _, test := range []struct {
		name    string
		columns int
		t       Table
		rows    [][]Cell
		want    string
	}{
		{"nothing is cut in a pipe", 0, Table{Gap: "  "}, [][]Cell{{{Text: "a"}, {Text: long}}}, "a  " + long},
		{"cut", 50, Table{Gap: "  "}, [][]Cell{{{Text: "a"}, {Text: long}}}, "a  card declined by the bank of the customer, who…"},
		{"wrapped", 40, Table{Gap: "  ", Wrap: true}, [][]Cell{{{Text: "a"}, {Text: long}}},
			"a  card declined by the bank of the\n   customer, who has to be asked"},
		{"below", 32, Table{Gap: "  "}, [][]Cell{{{Text: "order"}, {Text: "failed"}, {Text: long}}, {{Text: "b"}, {Text: "done"}}},
			"order  failed\n    card declined by the bank o…\nb      done"},
		{"dear columns go where all is too wide", 14, Table{Gap: "  ", Spare: []int{2}, Dear: []int{1}},
			[][]Cell{{{Text: "abcdefgh"}, {Text: "12345"}, {Text: "6"}, {Text: "x"}}}, "abcdefgh  x"},
		{"spare columns go first", 45, Table{Gap: "  ", Spare: []int{2, 1}},
			[][]Cell{{{Text: "a"}, {Text: "12345"}, {Text: "67890"}, {Text: long}}}, "a  card declined by the bank of the customer…"},
		{"comments stay comments", 40, Table{Gap: "  ", Wrap: true, Lead: "# "}, [][]Cell{{{Text: "a"}, {Text: "# " + long}}},
			"a  # card declined by the bank of the\n   # customer, who has to be asked"},
		{"commands are not cut", 12, Table{Gap: "  "}, [][]Cell{{{Text: "a"}, {Text: "stepwell runs show", Whole: true}}}, "a  stepwell runs show"},
		{"wide characters", 0, Table{Gap: "  "}, [][]Cell{{{Text: "注文"}, {Text: "x"}}, {{Text: "abcd"}, {Text: "y"}}}, "注文  x\nabcd  y"},
		{"numbers", 0, Table{Gap: "  "}, [][]Cell{{{Text: "a"}, {Text: "1", Right: true}}, {{Text: "b"}, {Text: "22", Right: true}}}, "a   1\nb  22"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, row := range test.rows {
				test.t.Add(row...)
			}
			var b strings.Builder
			test.t.Write(&b, Style{Columns: test.columns})
			if diff := cmp.Diff(test.want+"\n", b.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
