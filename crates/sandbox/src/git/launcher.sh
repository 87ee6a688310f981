#!/bin/sh
# Runs git. New objects of one repository go to a directory of the sandbox, since the repository's own is not writable here.
git=@GIT@
unset GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
# The options before the name of the command choose the repository.
count=0 options= command= next=
for word in "$@"; do
    count=$((count + 1))
    if [ -n "$next" ]; then
        next=
    else
        case $word in
        -C | -c | --git-dir | --work-tree | --namespace | --config-env | --attr-source) next=value ;;
        -*) ;;
        *)
            command=$word
            break
            ;;
        esac
    fi
    options="$options \"\${$count}\""
done
case $command in
'' | clone | init) ;;
*)
    common=$(eval "exec \"\$git\" $options rev-parse --git-common-dir" 2>/dev/null)
    case $common in
    '') ;;
    /*) ;;
    *)
        # Relative to where git runs, which `-C` changes.
        common=$(eval "exec \"\$git\" $options rev-parse --path-format=absolute --git-common-dir" 2>/dev/null)
        ;;
    esac
    if [ "$common" = @COMMON@ ]; then
        GIT_OBJECT_DIRECTORY=@OBJECTS@
        GIT_ALTERNATE_OBJECT_DIRECTORIES=@SHARED@
        export GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
        "$git" "$@"
        code=$?
        # To delete these, git wants a lock in a directory that is not writable here. They would say that a pick goes on.
        own=@OWN@
        if [ ! -e "$own/MERGE_MSG" ] && [ ! -e "$own/sequencer" ] && [ ! -e "$own/rebase-merge" ] \
            && [ ! -e "$own/rebase-apply" ]; then
            rm -f "$own/CHERRY_PICK_HEAD" "$own/REVERT_HEAD" "$own/REBASE_HEAD" "$own/AUTO_MERGE"
        fi
        exit $code
    fi
    ;;
esac
exec "$git" "$@"
