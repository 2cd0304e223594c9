"""The working copy of a state. Walks change it object by object, from any thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from planner.foundation.vocabulary.address import format_resource, key_order
from planner.foundation.vocabulary.records import evolve
from planner.world.state.model import InstanceKey, InstanceState, ObjectState, OutputState, ResourceState, State


class _Resource:
    """A resource under construction. `frozen`: the resource as an immutable record; None after a change."""

    __slots__ = ("frozen", "instances", "mode", "module", "name", "provider", "type")

    def __init__(self, resource: ResourceState) -> None:
        self.module, self.mode = resource.module, resource.mode
        self.type, self.name, self.provider = resource.type, resource.name, resource.provider
        self.instances = dict(resource.instances)
        self.frozen: ResourceState | None = resource

    def freeze(self) -> ResourceState:
        if self.frozen is None:
            keys = sorted(self.instances, key=key_order) if len(self.instances) > 1 else self.instances
            instances = {key: self.instances[key] for key in keys}
            self.frozen = ResourceState(self.module, self.mode, self.type, self.name, self.provider, instances)
        return self.frozen


OnChange = Callable[[ResourceState, InstanceKey, "InstanceState | None"], None]
"""called for each changed instance. Parameters: its resource (without instances), its key, and its new value"""


class StateBuilder:
    """A state under construction. Resources are identified by their address without a key (`module.a[0].aws_vpc.main`),
    instances by this address and their key, deposed objects also by their deposed key ("" for the current object).
    A resource is removed with its last object; `declare` adds a resource without objects. May be used by several
    threads."""

    def __init__(self, state: State | None = None, on_change: OnChange | None = None) -> None:
        base = state or State()
        self._on_change = on_change
        self._lock = threading.RLock()
        self._resources = {address: _Resource(r) for address, r in base.resources.items()}
        self._outputs = dict(base.outputs)
        self._base = base
        self.check_results = base.check_results

    # ------------------------------------------------------------ questions

    def object(self, resource: str, key: InstanceKey = None, deposed: str = "") -> ObjectState | None:
        instance = self.instance(resource, key)
        if instance is None:
            return None
        return instance.deposed.get(deposed) if deposed else instance.current

    def instance(self, resource: str, key: InstanceKey = None) -> InstanceState | None:
        with self._lock:
            built = self._resources.get(resource)
            return built.instances.get(key) if built else None

    def resource(self, resource: str) -> ResourceState | None:
        """The resource as an immutable record; None if it is not in the state."""
        with self._lock:
            built = self._resources.get(resource)
            return built.freeze() if built else None

    def provider(self, resource: str, key: InstanceKey = None) -> tuple[str, InstanceKey]:
        """The provider configuration of an instance, and the key of the provider instance; ("", None) if there is
        none."""
        with self._lock:
            built = self._resources.get(resource)
            instance = built.instances.get(key) if built else None
            return (built.provider, instance.provider_key) if built and instance else ("", None)

    def output(self, name: str) -> OutputState | None:
        return self._outputs.get(name)

    # ------------------------------------------------------------ changes

    def set_object(
        self,
        module: str,
        mode: str,
        type: str,
        name: str,
        key: InstanceKey,
        object: ObjectState,
        provider: str,
        provider_key: InstanceKey = None,
        deposed: str = "",
    ) -> None:
        """Record an object, or replace it. `deposed`: the key of a deposed object, "" for the current object."""
        address = format_resource(module, mode, type, name)
        with self._lock:
            built = self._resources.get(address)
            if built is None:
                built = _Resource(ResourceState(module, mode, type, name, provider, {}))
                self._resources[address] = built
            built.provider = provider
            before = built.instances.get(key) or InstanceState(key, None)
            if deposed:
                after = evolve(before, deposed={**before.deposed, deposed: object}, provider_key=provider_key)
            else:
                after = evolve(before, current=object, provider_key=provider_key)
            built.instances[key] = after
            built.frozen = None
            self._report_change(built, key, after)

    def declare(self, module: str, mode: str, type: str, name: str, provider: str) -> None:
        """Record a resource that `provider` manages, even if it has no instances."""
        address = format_resource(module, mode, type, name)
        with self._lock:
            built = self._resources.get(address)
            if built is None:
                built = self._resources[address] = _Resource(ResourceState(module, mode, type, name, provider, {}))
            if built.provider != provider:
                built.provider, built.frozen = provider, None

    def remove_empty(self) -> None:
        with self._lock:
            self._resources = {address: built for address, built in self._resources.items() if built.instances}

    def put_instance(self, address: str, key: InstanceKey, resource: ResourceState | None) -> None:
        """Replace an instance, with all its objects, by the instance in `resource`. If `resource` is None, remove the
        instance."""
        with self._lock:
            if resource is None:
                if self.instance(address, key) is not None:
                    self._put(address, key, None)
                return
            built = self._resources.get(address)
            if built is None:
                built = self._resources[address] = _Resource(evolve(resource, instances={}))
            built.provider = resource.provider
            self._put(address, key, resource.instances[key])

    def remove_object(self, resource: str, key: InstanceKey = None, deposed: str = "") -> None:
        """Remove an object if it exists, or a resource without instances. `deposed`: as for `set_object`."""
        with self._lock:
            before = self.instance(resource, key)
            if before is None:
                known = self._resources.get(resource)
                if known is not None and not known.instances:
                    del self._resources[resource]
                return
            if deposed:
                rest = {k: o for k, o in before.deposed.items() if k != deposed}
                self._put(resource, key, evolve(before, deposed=rest))
            else:
                self._put(resource, key, evolve(before, current=None))

    def depose(self, resource: str, key: InstanceKey = None, deposed: str = "") -> str:
        """Make the current object deposed. `deposed`: its deposed key ("": a new one). Returns the key; "" if there is
        no object."""
        with self._lock:
            before = self.instance(resource, key)
            if before is None or before.current is None:
                return ""
            mark = deposed or self.new_deposed_key(resource, key)
            after = evolve(before, current=None, deposed={**before.deposed, mark: before.current})
            self._put(resource, key, after)
            return mark

    def restore(self, resource: str, key: InstanceKey, deposed: str) -> bool:
        """Make a deposed object current again, unless there is a current object. Returns whether the object was
        restored."""
        with self._lock:
            before = self.instance(resource, key)
            if before is None or before.current is not None or deposed not in before.deposed:
                return False
            rest = {k: o for k, o in before.deposed.items() if k != deposed}
            self._put(resource, key, evolve(before, current=before.deposed[deposed], deposed=rest))
            return True

    def new_deposed_key(self, resource: str, key: InstanceKey = None) -> str:
        """A new key for a deposed object of the instance: eight hexadecimal digits."""
        import secrets

        instance = self.instance(resource, key)
        while True:
            mark = secrets.token_hex(4)
            if instance is None or mark not in instance.deposed:
                return mark

    def move(
        self, resource: str, key: InstanceKey, module: str, mode: str, type: str, name: str, new_key: InstanceKey
    ) -> None:
        """Move an instance with all its objects to an address that has no instance yet."""
        with self._lock:
            source = self._resources[resource]
            instance = source.instances[key]
            provider = source.provider
            self._put(resource, key, None)
            address = format_resource(module, mode, type, name)
            built = self._resources.get(address)
            if built is None:
                built = self._resources[address] = _Resource(ResourceState(module, mode, type, name, provider, {}))
            built.instances[new_key] = evolve(instance, key=new_key)
            built.frozen = None

    def set_output(self, name: str, output: OutputState) -> None:
        with self._lock:
            self._outputs[name] = output

    def remove_output(self, name: str) -> None:
        with self._lock:
            self._outputs.pop(name, None)

    def _put(self, resource: str, key: InstanceKey, instance: InstanceState | None) -> None:
        built = self._resources[resource]
        built.frozen = None
        if instance is None or (instance.current is None and not instance.deposed):
            instance = None
            built.instances.pop(key, None)
            if not built.instances:
                del self._resources[resource]
        else:
            built.instances[key] = instance
        self._report_change(built, key, instance)

    def _report_change(self, resource: _Resource, key: InstanceKey, instance: InstanceState | None) -> None:
        if self._on_change is not None:
            r = resource
            self._on_change(ResourceState(r.module, r.mode, r.type, r.name, r.provider, {}), key, instance)

    # ------------------------------------------------------------ result

    def snapshot(self) -> State:
        """The current state, with the serial and lineage of the state with which the builder began."""
        with self._lock:
            more: dict[str, Any] = {
                "resources": {a: r.freeze() for a, r in self._resources.items()},
                "outputs": {name: self._outputs[name] for name in sorted(self._outputs)},
                "check_results": self.check_results,
            }
            return evolve(self._base, **more)
