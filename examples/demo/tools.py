"""The agent's tools, honest and lying, with the checks that distinguish them.

Two are honest. The others have bugs of real tools, and report their results in good faith.
"""

from __future__ import annotations

from world import (
    count_drafts_of_others,
    count_flows,
    count_flows_tagged,
    count_orphan_steps,
    count_users,
    database,
    download_name,
    insert_flow,
    insert_step,
    post_flow,
)

from deltaspan import change, current_causal_tag, expects, unchanged


@expects(change("active_flows", count_flows).by(1), unchanged("users", count_users))
def create_flow(name: str) -> str:
    """Create one flow. Honest."""
    with database.session() as db:
        insert_flow(db, name)
        db.commit()
    return f"created flow {name!r}"


@expects(change("active_flows", count_flows).by(1), unchanged("users", count_users))
def clone_flow(name: str) -> str:
    """Copy a flow without a commit. It is lost when the session closes."""
    with database.session() as db:
        insert_flow(db, f"{name}-copy")
    return f"cloned flow {name!r}"


@expects(change("active_flows", count_flows).by(1), unchanged("users", count_users))
def request_flow(name: str) -> str:
    """Request a flow from a web service, and retry after a late reply.

    The first request had succeeded.
    """
    try:
        post_flow(name, reply_lost=True)
    except TimeoutError:
        post_flow(name, reply_lost=False)
    return f"created flow {name!r}, on the second attempt"


@expects(change("active_flows", count_flows).by(1), unchanged("drafts_of_others", count_drafts_of_others))
def publish_flow(name: str) -> str:
    """Create a flow, and delete the drafts of all tenants instead of one.

    The DELETE names no tenant.
    """
    with database.session() as db:
        insert_flow(db, name)
        db.execute("DELETE FROM flows WHERE status = 'draft'")
        db.commit()
    return f"published flow {name!r} and cleaned up"


@expects(change("active_flows", count_flows).by(1), unchanged("orphan_steps", count_orphan_steps))
def import_flow(name: str) -> str:
    """Copy the steps, then fail to copy the flow. The steps remain.

    The source goes away in between.
    """
    with database.session() as db:
        insert_step(db, name, "fetch")
        db.commit()
        insert_flow(db, download_name(name))
        db.commit()
    return f"imported flow {name!r}"


@expects(change("active_flows", count_flows_tagged).by(1), unchanged("users", count_users))
def create_tagged_flow(name: str) -> str:
    """Create one flow with the causal tag of this run. Honest."""
    with database.session() as db:
        insert_flow(db, name, causal_tag=current_causal_tag())
        db.commit()
    return f"created flow {name!r}"


@expects(change("active_flows", count_flows_tagged).by(1), unchanged("users", count_users))
def clone_tagged_flow(name: str) -> str:
    """Copy a flow without a commit, while an honest colleague adds one.

    The total rises by one.
    """
    with database.session() as db:
        insert_flow(db, f"{name}-copy", causal_tag=current_causal_tag())
    return f"cloned flow {name!r}"
