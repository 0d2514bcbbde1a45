package server

// This file has the doors of limits: how many runs of what may be at work at once, or begin in a period.

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/http"
	"slices"

	"github.com/stepwell/stepwell/internal/operate"
	"github.com/stepwell/stepwell/world"
)

const limitPath = "/v1/limits/{limit}"

func limitRoutes() []route {
	return []route{
		{method: "GET", path: "/v1/limits", scope: Viewer, handle: listLimits, op: operation{
			id: "listLimits", summary: "List the limits", responses: []response{{200, "Limits", "", "The limits, by name."}},
		}},
		{method: "GET", path: limitPath, scope: Viewer, handle: getLimit, op: operation{
			id: "getLimit", summary: "Show a limit and the state of its keys",
			query:     []param{paramCursor, limit("Limit1000")},
			responses: []response{{200, "LimitPage", "", "The limit, and a page of its keys that something needs, by their texts."}},
		}},
		{method: "GET", path: limitPath + "/holders", scope: Viewer, handle: listHolders, op: operation{
			id: "listLimitHolders", summary: "List what holds the places of a key of a limit",
			query:     []param{{name: "key", schema: "Text", about: "The key. None: the limit has no keys."}, limit("Limit1000")},
			responses: []response{{200, "LimitHolders", "", "Runs, steps of runs, and messages of queues."}},
		}},
		{method: "PUT", path: limitPath, scope: Operator, audit: true, handle: setLimit, op: operation{
			id: "setLimit", summary: "Set how many of a key may be at work at once, or begin in a period, instead of the number in the code", body: "SetLimit",
			responses: []response{{200, "Limit", "", "The limit as it is now."}},
		}},
	}
}

// limitList is all limits.
type limitList struct {
	Limits []operate.Limit `json:"limits"`
}

func listLimits(s *Server, w http.ResponseWriter, r *request) error {
	l := s.app.World().Limits()
	all, err := l.ListLimits(r.Context())
	if err != nil {
		return err
	}
	list := limitList{make([]operate.Limit, len(all))}
	for i := range all {
		list.Limits[i] = operate.LimitOf(&all[i])
	}
	return answer(w, http.StatusOK, list)
}

// limitNamed is one limit.
func limitNamed(ctx context.Context, l world.Limiter, name string) (operate.Limit, error) {
	all, err := l.ListLimits(ctx)
	if err != nil {
		return operate.Limit{}, err
	}
	i := slices.IndexFunc(all, func(l world.Limit) bool { return l.Name == name })
	if i < 0 {
		return operate.Limit{}, world.NoLimit(name)
	}
	return operate.LimitOf(&all[i]), nil
}

func getLimit(s *Server, w http.ResponseWriter, r *request) error {
	most, err := r.number("limit", someEvents, mostEvents)
	if err != nil {
		return err
	}
	behind, err := base64.RawURLEncoding.DecodeString(r.query.Get("cursor"))
	if err != nil {
		return invalid("cursor: it does not belong to this list")
	}
	l := s.app.World().Limits()
	page := operate.LimitPage{Keys: []operate.LimitKey{}}
	if page.Limit, err = limitNamed(r.Context(), l, r.PathValue("limit")); err != nil {
		return err
	}
	keys, err := l.ListLimitKeys(r.Context(), page.Name, string(behind), most)
	if err != nil {
		return err
	}
	for _, k := range keys {
		page.Keys = append(page.Keys, operate.LimitKey(k))
	}
	if len(keys) == most {
		page.Cursor = base64.RawURLEncoding.EncodeToString([]byte(cmp.Or(keys[most-1].Key, "\x00"))) // before all others
	}
	return answer(w, http.StatusOK, page)
}

func listHolders(s *Server, w http.ResponseWriter, r *request) error {
	most, err := r.number("limit", someEvents, mostEvents)
	if err != nil {
		return err
	}
	l := s.app.World().Limits()
	held, err := l.ListHolders(r.Context(), r.PathValue("limit"), r.query.Get("key"), most)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, operate.LimitHolders{Holders: append([]world.LimitHolder{}, held...)})
}

// settingLimit is the body of a change.
type settingLimit struct {
	Number *int `json:"number"` // null: what code says
}

func setLimit(s *Server, w http.ResponseWriter, r *request) error {
	var b settingLimit
	if err := r.decode(&b); err != nil {
		return err
	}
	l := s.app.World().Limits()
	name := r.PathValue("limit")
	if err := l.SetLimit(r.Context(), name, b.Number); err != nil {
		return err
	}
	is, err := limitNamed(r.Context(), l, name)
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, is)
}
