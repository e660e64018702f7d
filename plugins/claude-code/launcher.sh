#!/bin/sh
# Starts the Mnemic that is installed on this machine; written by `mnemic hooks export`.
#
#   launcher.sh hook ASSISTANT EVENT [--ask]   hands an event over; silent, and ends with 0 whatever happens
#   launcher.sh mcp ARGUMENT...                runs the MCP server
#
# No path of the machine on which it was written is in it: the home is $MNEMIC_HOME, else the platform's data folder.
# Absolute paths alone count: nothing that lies in the working folder is run.

missing='Mnemic is not set up on this machine, so nothing is remembered: install it, then run `mnemic setup`.'

home=$MNEMIC_HOME
case $home in
'' | '${'*)  # a host that was given no folder passes the name of the variable on
    home=$XDG_DATA_HOME
    case $home in
    /*) ;;
    *)
        home=$HOME/.local/share
        [ -d "$HOME/Library/Application Support" ] && home="$HOME/Library/Application Support"
        ;;
    esac
    home=$home/mnemic
    unset MNEMIC_HOME
    ;;
'~/'*) home=$HOME/${home#??} ;;
esac
case $home in
/*) ;;
*)
    home=
    missing='MNEMIC_HOME (or HOME) is no absolute path, so nothing is remembered: give it one.'
    ;;
esac

case $1 in
hook)
    # Where `mnemic hooks install` wired Claude Code, those hooks do all of it: each event would be kept and told twice.
    if grep -qs /bin/mnemic-hook "${CLAUDE_CONFIG_DIR:-$HOME/.claude}/settings.json"; then
        cat >/dev/null
    elif [ -n "$home" ] && [ -x "$home/bin/mnemic-hook" ]; then
        shift
        "$home/bin/mnemic-hook" "$@" --home "$home" 2>/dev/null
    else
        cat >/dev/null
        [ "$3" = session-start ] && printf '{"systemMessage":"%s"}\n' "$missing"
    fi
    exit 0
    ;;
mcp)
    [ -n "$home" ] && for command in "$home/bin/mnemic" "$(command -v mnemic)" "$HOME/.local/bin/mnemic"; do
        case $command in
        /*) [ -x "$command" ] && exec "$command" "$@" ;;
        esac
    done
    echo "$missing" >&2
    exit 1
    ;;
esac
echo 'Usage: launcher.sh hook ASSISTANT EVENT [--ask] | launcher.sh mcp ARGUMENT...' >&2
exit 2
