package project

import (
	"context"
	"fmt"

	"github.com/troupe-dev/troupe/project/internal/config"
	"github.com/troupe-dev/troupe/project/internal/doctor"
	"github.com/troupe-dev/troupe/store"
	"github.com/troupe-dev/troupe/store/bucket"
	"github.com/troupe-dev/troupe/store/postgres"
)

// bucket returns where files are kept, nil where that is no bucket.
func (p *Project) bucket() (*bucket.Bucket, error) {
	switch files := p.config.Files; {
	case files == "" || files == "store" || files == "directory":
		return nil, nil
	case !p.sharesStore():
		return nil, fmt.Errorf("files in %s is a bucket, which servers share that share a PostgreSQL database: set store as well, or leave files out", config.Name)
	}
	opened, err := bucket.Open(p.config.Files, func(name string) string {
		value, _ := p.lookup(name)
		return value
	})
	if err != nil {
		return nil, fmt.Errorf("files in %s: %w", config.Name, err)
	}
	return opened, nil
}

// openShared opens a PostgreSQL database, with the bucket that has its files.
func (p *Project) openShared(ctx context.Context, address string, readOnly bool) (*postgres.Store, error) {
	options := postgres.Options{ReadOnly: readOnly}
	b, err := p.bucket()
	if err != nil {
		return nil, err
	}
	if b != nil {
		options.Blobs = b
	}
	opened, err := postgres.Open(ctx, address, options)
	if err != nil || readOnly {
		return opened, err
	}
	if problem, err := opened.ClockProblem(ctx); err == nil && problem != "" {
		p.log.Warn(problem)
	}
	return opened, nil
}

// examineBucket looks whether files can be kept, where that is in a bucket.
func (p *Project) examineBucket(ctx context.Context) []doctor.Check {
	const name = "files"
	b, err := p.bucket()
	if b == nil && err == nil {
		return nil
	}
	if err == nil {
		err = b.Check(ctx)
	}
	if err != nil {
		return []doctor.Check{{Name: name, Status: doctor.Broken, Message: err.Error(), Fix: "correct files in " + config.Name + ", or the bucket"}}
	}
	return []doctor.Check{{Name: name, Status: doctor.OK, Message: b.String() + " can be written and read"}}
}

// CopyFiles brings along what belongs to sessions that were copied from one store to another, where
// one of them has files in it: from and to the folders of this project.
func (p *Project) CopyFiles(ctx context.Context, from, to store.Log, sessions []string) error {
	var ways []*sharedFiles
	if shared, ok := from.(*postgres.Store); ok {
		ways = append(ways, p.filesIn(onlyRead{shared}))
	}
	if shared, ok := to.(*postgres.Store); ok {
		ways = append(ways, p.filesIn(shared))
	}
	if p.config.Files == "directory" {
		return nil // they are there, or somebody brings them
	}
	for _, files := range ways {
		if err := files.pullDocuments(ctx); err != nil {
			return err
		}
		for _, session := range sessions {
			if err := files.pull(ctx, session); err != nil {
				return fmt.Errorf("the files of session %s: %w", session, err)
			}
		}
	}
	return nil
}

// onlyRead is files that are fetched and not changed.
type onlyRead struct{ *postgres.Store }

func (onlyRead) PutFile(context.Context, string, string, string, []byte) error { return nil }
func (onlyRead) DropFile(context.Context, string, string) error                { return nil }
