// Package failpoint names the moments at which a process is killed to see what is
// left of its work.
//
// In a program that is built as usual, [Here] is empty and costs nothing. In one that
// is built with the tag failpoint, the environment variable TROUPE_FAILPOINT says at
// which point the process kills itself, as NAME, or as NAME:3 for the third time that
// it gets there.
package failpoint

// A Point is a moment between two effects of which a killed process has had the
// first and not the second.
type Point string

// The points, each with what has just happened there.
const (
	// Events have their numbers, and nothing of them is stored.
	FeedBeforeAppend Point = "feed-before-append"
	// Events are stored, and nobody has seen them.
	FeedAfterAppend Point = "feed-after-append"
	// A model's reply has come to its end, and nothing of it is stored.
	ModelReplied Point = "model-replied"
	// Calls are on record, and no tool has begun.
	CallsRecorded Point = "calls-recorded"
	// The answer that a call waited for is on record, and the tool has not begun.
	AnswerRecorded Point = "answer-recorded"
	// A tool has done what it does, and its outcome is not stored.
	ToolReturned Point = "tool-returned"

	// A transaction is complete, and not committed.
	StoreBeforeCommit Point = "store-before-commit"
	// A transaction is committed, and the note in the lock file is of the one before.
	StoreAfterCommit Point = "store-after-commit"
	// The note is written, and whoever wrote the events does not know.
	StoreBeforeAcknowledging Point = "store-before-acknowledging"
	// The lock is taken and says whose it is; the file was not looked at.
	StoreLocked Point = "store-locked"
	// A new file is complete, and not under its name.
	StoreBeforeRename Point = "store-before-rename"
	// A new file is under its name, and the directory is not synced.
	StoreAfterRename Point = "store-after-rename"
	// Words are added to the index, and it does not say so.
	StoreIndexing Point = "store-indexing"
	// All work is done, and the log file still has a part of it.
	StoreBeforeCheckpoint Point = "store-before-checkpoint"
	// The log file is empty, and the note does not say so.
	StoreAfterCheckpoint Point = "store-after-checkpoint"

	// A session's folder is there, and nothing is in it.
	FolderMade Point = "folder-made"
	// Events are stored, and the manifest is that of before.
	ManifestBehind Point = "manifest-behind"
	// The folder of a session that is being deleted says so, and the session is there.
	FolderSetAside Point = "folder-set-aside"
	// A session is forgotten, and its folder not removed.
	SessionForgotten Point = "session-forgotten"
	// The session of a delivery is forgotten, and the delivery not removed.
	DeliveryForgotten Point = "delivery-forgotten"

	// A repository is made for a delivery, and the delivery does not know where it works.
	RepositoryMade Point = "repository-made"
	// A delivery says that its branch is being taken, and the checkout is as it was.
	BranchTaking Point = "branch-taking"
	// The branch is taken, and the delivery does not say so.
	BranchTaken Point = "branch-taken"

	// A temporary file is there, and empty.
	FileBegun Point = "file-begun"
	// A temporary file is complete, and the old file under its name.
	FileBeforeRename Point = "file-before-rename"
	// A file is under its name, and the directory is not synced.
	FileAfterRename Point = "file-after-rename"
)

// Points returns all of them.
func Points() []Point {
	return []Point{
		FeedBeforeAppend, FeedAfterAppend, ModelReplied, CallsRecorded, AnswerRecorded, ToolReturned,
		StoreBeforeCommit, StoreAfterCommit, StoreBeforeAcknowledging, StoreLocked, StoreBeforeRename, StoreAfterRename,
		StoreIndexing, StoreBeforeCheckpoint, StoreAfterCheckpoint,
		FolderMade, ManifestBehind, FolderSetAside, SessionForgotten, DeliveryForgotten,
		RepositoryMade, BranchTaking, BranchTaken, FileBegun, FileBeforeRename, FileAfterRename,
	}
}

// Variable is the environment variable that says where a process is to be killed.
const Variable = "TROUPE_FAILPOINT"
