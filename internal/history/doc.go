// Package history holds logs of runs outside of any database: as lines of JSON, and cut for a fork.
package history
