package ui

// This file shows limits, and how their keys stand.

import (
	"net/http"
	"net/url"
	"slices"

	"github.com/stepwell/stepwell/api"
	"github.com/stepwell/stepwell/internal/ops"
	"github.com/stepwell/stepwell/world"
)

// limitRow is a limit.
type limitRow struct {
	api.Limit
	Path   string
	Status *status // nil: nothing is to be said

	Singleton bool // of a workflow: its number is one
}

// Counts says what counts toward the limit.
func (r limitRow) Counts() string { return ops.LimitCounts(&r.Limit) }

// limitView is a limit, and a page of its keys.
type limitView struct {
	limitRow
	Rows []limitKeyRow
	Next string // the address of the next page; "": there is none

	Holders []holderRow // of one key, where they are asked for
	Of      string      // that key, as it is shown
	Asked   bool
	Cut     bool // there may be more
}

// limitKeyRow is a key; Holders: where what holds it is listed.
type limitKeyRow struct {
	api.LimitKey
	Holders string
}

// holderRow is what holds a place; Path: its page.
type holderRow struct{ ID, As, Path string }

func holderRowOf(h *world.LimitHolder) holderRow {
	row := holderRow{ID: visible(h.Run + h.Message), As: visible(ops.HolderText(h)), Path: Base + "runs/" + url.PathEscape(h.Run)}
	if h.Message != "" {
		row.Path = Base + "queues/" + url.PathEscape(h.Name)
	}
	return row
}

// limitsPage is how many keys, or holders of one, a page shows.
const limitsPage = 100

func limitRowOf(l *world.Limit) limitRow {
	row := limitRow{Limit: ops.LimitOf(l), Path: Base + "limits/" + url.PathEscape(l.Name), Singleton: world.SingleOf(l.Name) != ""}
	if l.Number() == 0 {
		row.Status = &status{"admits nobody", bad, "‖"}
	} else if l.Set != nil {
		row.Status = &status{"set by an operator", warm, "○"}
	}
	return row
}

func limits(u *UI, v *visit) error {
	all, err := u.world.Limits().ListLimits(v.Context())
	if err != nil {
		return err
	}
	rows := make([]limitRow, len(all))
	for i := range all {
		rows[i] = limitRowOf(&all[i])
	}
	v.draw(http.StatusOK, "limits", "Limits", rows)
	return nil
}

func oneLimit(u *UI, v *visit) error {
	k := u.world.Limits()
	all, err := k.ListLimits(v.Context())
	if err != nil {
		return err
	}
	name := v.PathValue("limit")
	i := slices.IndexFunc(all, func(l world.Limit) bool { return l.Name == name })
	if i < 0 {
		return world.NoLimit(name)
	}
	keys, err := k.ListLimitKeys(v.Context(), name, v.URL.Query().Get("after"), limitsPage+2)
	if err != nil {
		return err
	}
	keys, more := cutPage(keys, limitsPage)
	p := &limitView{limitRow: limitRowOf(&all[i])}
	for _, key := range keys {
		at := p.Path + "?" + url.Values{"holders": {key.Key}}.Encode() + "#holders"
		key.Key = visible(key.Key)
		p.Rows = append(p.Rows, limitKeyRow{api.LimitKey(key), at})
	}
	if q := v.URL.Query(); q.Has("holders") {
		held, err := k.ListHolders(v.Context(), name, q.Get("holders"), limitsPage)
		if err != nil {
			return err
		}
		p.Asked, p.Of, p.Cut = true, visible(q.Get("holders")), len(held) == limitsPage
		for i := range held {
			p.Holders = append(p.Holders, holderRowOf(&held[i]))
		}
	}
	if more {
		p.Next = p.Path + "?" + url.Values{"after": {keys[limitsPage-1].Key}}.Encode()
	}
	v.draw(http.StatusOK, "limit", p.Name, p)
	return nil
}
