package world

import (
	"fmt"
	"strings"
)

// Orphans are rows of a table whose run or class is missing. It is for stores.
type Orphans struct {
	Table string
	N     int64 // number of missing runs or classes
	First int64 // the lowest of their keys
}

// ApartFound returns a [Doctor]'s finding about values that are stored apart: how many are held,
// how many of these lack their first piece, and how many no run holds. schema precedes table names
// in the advice.
func ApartFound(held, empty, left int64, schema string) Finding {
	switch {
	case empty > 0:
		return Finding{Health: HealthBad, Found: fmt.Sprintf("%d of %d large values are missing", empty, held), Advice: "restore a backup, or only its rows of " + schema + "apart_pieces back"}
	case left > 0:
		return Finding{
			Health: HealthWarning, Found: fmt.Sprintf("pieces of %d large values belong to no run", left),
			Advice: "nothing reads them: DELETE FROM " + schema + "apart_pieces WHERE value NOT IN (SELECT value FROM " + schema + "apart)",
		}
	}
	return Finding{Health: HealthGood, Found: fmt.Sprintf("%d are stored, none without its beginning", held)}
}

// OrphansFound returns a [Doctor]'s finding about orphans. schema precedes table names in the
// advice.
func OrphansFound(all []Orphans, schema string) Finding {
	if len(all) == 0 {
		return Finding{Health: HealthGood, Found: "none"}
	}
	var found, rid []string
	ended := false
	for _, o := range all {
		found = append(found, fmt.Sprintf("rows of %s (keys of runs: %d, first %d)", o.Table, o.N, o.First))
		lost := " NOT IN (SELECT key FROM " + schema + "runs)"
		ended = ended || o.Table == "hooks" || o.Table == "ended_hooks"
		switch table, _, class := strings.Cut(o.Table, " "); {
		case class, table == "ended_hooks": // of a class the run is there, and can be ended; ended hooks come last
		case table == "awaits":
			rid = append(rid, "DELETE FROM "+schema+"awaits WHERE target"+lost+" OR waiter"+lost)
		default:
			rid = append(rid, "DELETE FROM "+schema+table+" WHERE run"+lost)
		}
	}
	if ended { // a hook that is deleted is one that has ended
		rid = append(rid, "DELETE FROM "+schema+"ended_hooks WHERE run NOT IN (SELECT key FROM "+schema+"runs)")
	}
	f := Finding{Health: HealthBad, Found: strings.Join(found, "; ")}
	f.Advice = "their run was lost, and no worker gets them: restore the rows from a backup"
	if len(rid) > 0 {
		f.Advice += "; or delete the rest:  " + strings.Join(rid, "; ")
	}
	return f
}
