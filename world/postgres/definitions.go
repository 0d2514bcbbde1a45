package postgres

// What starters have to know of workflows whose code they have not, and what operators set for all.

import (
	"cmp"
	"context"
	"encoding/json"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/stepwell/stepwell/world"
)

var (
	define       = load("define")
	defined      = load("defined")
	schemasOf    = load("schemas_of")
	readSetting  = load("setting")
	limitSetting = load("limit_setting")
)

// retentionSetting is the most that ended runs are kept, in ns; below 0: for ever.
const retentionSetting = "retention"

// Define notes definitions; see [world.Definer].
func (rd *reader) Define(ctx context.Context, all []world.Definition) error {
	for i := range all {
		if err := world.CheckDefinition(&all[i]); err != nil {
			return err
		}
	}
	rows, err := definitionRows(all, "")
	if err != nil || len(all) == 0 {
		return err
	}
	if err := sayLimits(ctx, rd.database, world.LimitsOf(all)); err != nil {
		return err
	}
	return rd.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := rd.in(tx).exec(ctx, define, rows...)
		return err
	})
}

// definitionRows is how the database keeps definitions: a list for each column.
func definitionRows(all []world.Definition, by string) ([]any, error) {
	workflows, says, schemas, workers := make([]string, len(all)), make([]string, len(all)), make([]string, len(all)), make([]string, len(all))
	versions := make([]int32, len(all))
	for i := range all {
		said, err := json.Marshal(all[i].Said)
		if err != nil {
			return nil, err
		}
		workflows[i], versions[i], says[i], schemas[i] = all[i].Workflow, int32(all[i].Version), string(said), string(all[i].Schemas)
		workers[i] = cmp.Or(by, all[i].By)
	}
	return []any{workflows, versions, says, schemas, workers}, nil
}

// Defined tells of workflows; see [world.Definer].
func (rd *reader) Defined(ctx context.Context, workflows []string) (out world.Defined, err error) {
	if workflows == nil {
		workflows = []string{}
	}
	err = rd.read(ctx, defined, func(row pgx.Rows) error {
		var name, text, by string
		var version int
		var gone bool
		if err := row.Scan(&name, &version, &text, &by, &gone); err != nil {
			return err
		}
		switch {
		case version > 0:
			d := world.Definition{Class: world.Class{Workflow: name, Version: version}, By: by, Gone: gone}
			if unmarshal("definition", &text, &d.Said) == nil { // one that is damaged says nothing
				out.Definitions = append(out.Definitions, d)
			}
		case version == 0:
			var classes []world.Class
			if unmarshal("classes", &text, &classes) == nil {
				out.Has(classes)
			}
		case name == retentionSetting:
			n, err := strconv.ParseInt(text, 10, 64)
			out.Retention = time.Duration(n)
			return err
		}
		return nil
	}, workflows)
	out.Of(workflows)
	return out, err
}

// Schemas are those of a version; see [world.Definer].
func (rd *reader) Schemas(ctx context.Context, of world.Class) (out json.RawMessage, err error) {
	err = rd.read(ctx, schemasOf, func(row pgx.Rows) error {
		var text string
		if err := row.Scan(&text); err != nil || text == "" {
			return err
		}
		out = json.RawMessage(text)
		return nil
	}, of.Workflow, int32(of.Version))
	return out, err
}

// LimitRetention lowers the most that ended runs are kept, or raises it; see [world.Definer].
func (rd *reader) LimitRetention(ctx context.Context, limit time.Duration, raise bool) (before, now time.Duration, err error) {
	if before, err = retentionOf(ctx, rd); err != nil || limit == 0 || limit == before || !raise && world.LowerRetention(before, limit) == before {
		return before, before, err
	}
	if err = rd.change(ctx, func(ctx context.Context, tx pgx.Tx) error {
		_, err := rd.in(tx).exec(ctx, limitSetting, retentionSetting, int64(max(limit, -1)), raise)
		return err
	}); err != nil {
		return before, before, err
	}
	now, err = retentionOf(ctx, rd)
	return before, now, err
}

func retentionOf(ctx context.Context, rd *reader) (limit time.Duration, err error) {
	err = rd.read(ctx, readSetting, func(row pgx.Rows) error { return row.Scan((*int64)(&limit)) }, retentionSetting)
	return limit, err
}
