"""Connections: the blocks that define how provisioners reach a machine."""

from __future__ import annotations

from functools import cache

from planner.foundation.values.schema import AttributeSchema, BlockSchema
from planner.foundation.values.types import BOOL, NUMBER, STRING

_TEXTS = (
    "type user password timeout script_path target_platform private_key certificate host_key agent_identity cacert "
    "proxy_scheme proxy_host proxy_user_name proxy_user_password "
    "bastion_host bastion_host_key bastion_user bastion_password bastion_private_key bastion_certificate"
)


@cache
def connection_schema() -> BlockSchema:
    """All that any kind of connection takes."""
    attributes = {"host": AttributeSchema(STRING, required=True)}
    attributes |= {name: AttributeSchema(STRING, optional=True) for name in _TEXTS.split()}
    attributes |= {name: AttributeSchema(NUMBER, optional=True) for name in ("port", "proxy_port", "bastion_port")}
    attributes |= {name: AttributeSchema(BOOL, optional=True) for name in ("agent", "https", "insecure", "use_ntlm")}
    return BlockSchema(attributes)
