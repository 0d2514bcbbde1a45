module github.com/stepwell/stepwell/bench

go 1.26.0

require (
	github.com/stepwell/stepwell v0.0.0
	github.com/jackc/pgx/v5 v5.12.0
	modernc.org/sqlite v1.61.1
)

replace github.com/stepwell/stepwell => ../
