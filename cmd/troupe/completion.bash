
# Without the package bash-completion, the words are put together here: bash takes '='
# and ':' for words of their own.
__troupe_init_completion()
{
    COMPREPLY=()
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@" cur prev words cword
        return
    fi
    local i piece between last rest=${COMP_LINE:0:$COMP_POINT}
    words=() cword=0
    for ((i = 0; i <= COMP_CWORD; i++)); do
        piece=${COMP_WORDS[i]}
        if ((i == COMP_CWORD)); then # only what stands before the cursor
            piece=${rest##*[[:space:]]}
            [[ $COMP_WORDBREAKS == *=* ]] && piece=${piece##*=}
            [[ $COMP_WORDBREAKS == *:* ]] && piece=${piece##*:}
            [[ ${COMP_WORDS[i]} == [=:]* && -z $piece ]] && piece=${COMP_WORDS[i]}
        fi
        between=${rest%%"$piece"*}
        [[ -z $piece ]] && between=$rest
        rest=${rest#*"$piece"}
        last=$((${#words[@]} - 1))
        if [[ $i -gt 0 && -z $between && ($piece == [=:]* || ${words[last]} == *[=:]) ]]; then
            words[last]+=$piece
        else
            words+=("$piece")
        fi
    done
    cword=$((${#words[@]} - 1))
    cur=${words[cword]}
    prev=
    ((cword > 0)) && prev=${words[cword - 1]}
    return 0
}
