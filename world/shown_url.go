package world

// This file says what may be shown of where a database or a server is, and what is no such place.

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

var (
	// parameters are those of PostgreSQL, written host=… password=…
	parameters = regexp.MustCompile(`(?i)(^|[\s'])(host|hostaddr|user|dbname|password|passfile|sslpassword|service|sslmode)\s*=`)
	// credentials are name:password@, at the beginning or behind //.
	credentials = regexp.MustCompile(`(^|//)[^/\\\s@:]+:[^/\\\s@]*@`)
)

// CheckPlace returns [ErrInvalid] for text that looks like a database connection but is not a URL.
// Taken for the path of a file, it would show its password in messages. The error does not show it.
func CheckPlace(where string) error {
	switch {
	case schemeOf.MatchString(where) && strings.Contains(where, "://"):
		return nil
	case parameters.MatchString(where):
		return fmt.Errorf("%w: the database is given as connection parameters, like host=… user=…; write it as a URL: postgres://user@host/database", ErrInvalid)
	case credentials.MatchString(where):
		return fmt.Errorf("%w: the database is given with a user and a password, but without a scheme; write it as a URL: postgres://user@host/database", ErrInvalid)
	}
	return nil
}

// ShownURL returns the URL of a database, a server or an endpoint without secrets, for errors, logs
// and pages: without the password, the query and the user. For PostgreSQL it keeps the user, and
// what of the query names the server and the database. Other text is shown as far as it cannot have
// a secret.
func ShownURL(where string) string {
	u, err := url.Parse(where)
	switch {
	case err != nil, parameters.MatchString(where), credentials.MatchString(where) && !strings.Contains(where, "://"):
		return schemeOf.FindString(where) + "…"
	case u.Opaque != "" && !strings.EqualFold(u.Scheme, "sqlite"):
		return u.Scheme + ":…"
	case u.Scheme == "" && strings.Contains(where, "@"):
		return "…@" + where[strings.LastIndexByte(where, '@')+1:]
	}
	postgres := u.Scheme == "postgres" || u.Scheme == "postgresql"
	kept := url.Values{}
	for name, values := range u.Query() {
		if name == "stepwell_schema" || postgres && slices.Contains(namesServer, name) {
			kept[name] = values
		}
	}
	u.RawQuery, u.Fragment, u.RawFragment, u.ForceQuery = kept.Encode(), "", "", false
	if u.User != nil {
		if u.User = url.User(u.User.Username()); !postgres {
			u.User = nil
		}
	}
	return u.String()
}

// namesServer are the parameters of PostgreSQL's URLs that name a server, a database or who connects: without them a URL is
// another's.
var namesServer = []string{"database", "dbname", "host", "hostaddr", "port", "service", "user"}
