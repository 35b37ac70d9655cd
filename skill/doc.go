// Package skill finds skill files, lists label and description, loads bodies on
// request, and notices changes.
//
// A root is a directory that holds skills in two forms, at any of its levels:
//
//   - a folder with a SKILL.md, as Agent Skills has it: front matter with name and
//     description, and beside it whatever files the skill refers to;
//   - a single markdown file with label and description at its top, in front
//     matter or as plain lines. A README.md is not taken for one.
//
// A directory without a SKILL.md is a category, unless the header names another
// with category, at the top or under metadata. metadata.requires lists skills that
// one builds upon.
//
// Files and directories whose names begin with a dot are passed over.
//
// # What is read when
//
// [Open] and the looks that follow read the headers of files, at most 64 KiB of
// each and as a rule 4. [Library.Load] reads a body. A file that cannot be used is
// a [Finding] and takes nothing else down.
//
// # Changes
//
// Nothing watches the files. Whoever asks has the library look first, if its last
// look is a quarter of a second old or the name asked for is unknown. A look
// compares inode, size and time of modification with what it knows, and reads the
// headers that differ; Load reads its file every time. So there is no goroutine,
// nothing to close, and nothing that a file system without notifications could miss.
//
// What is being written never replaces what was good: a changed file counts once
// it can be read and has been left alone for a quarter of a second. Until then its
// last good version stays in use, with a finding that says so; Load waits that
// long, once, for the new one. A version is the hash of the whole file. It is in
// the result of use_skill, and with that in the log of the run.
//
// # Files of a skill
//
// [Library.Roots] are the roots that a workspace grants for reading, {skills},
// {skills-2} and so on. [Document].Resources name files by way of them,
// {skills}/pdf/reference.md, as the tool read_file takes them.
package skill
