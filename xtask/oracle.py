"""What PyOpenCL answers for the devices that are here, and for facts that somebody made up.

Reads the document of clmatrix-suites' example `characterize` from the file that is named on the
command line, and prints one of the same form with PyOpenCL's answers.
"""

import ast
import datetime
import functools
import importlib.metadata
import json
import re
import sys
import types
import warnings

import pyopencl as cl
from pyopencl import _monkeypatch, characterize

LOCAL_MEM_TYPES = ["None", "Local", "Global"]


def version(pair):
    return None if pair is None else {"major": pair[0], "minor": pair[1]}


def or_none(ask):
    try:
        return ask()
    except cl.Error:
        return None


def facts_of(device):
    platform = device.platform
    return {
        "platform_name": platform.name.strip(),
        "platform_vendor": platform.vendor.strip(),
        "platform_version": platform.version.strip(),
        "name": device.name.strip(),
        "vendor": device.vendor.strip(),
        "device_type": device.type,
        "extensions": device.extensions.split(),
        "max_compute_units": device.max_compute_units,
        "local_mem_type": LOCAL_MEM_TYPES[device.local_mem_type],
        "local_mem_size": device.local_mem_size,
        "svm_capabilities": or_none(lambda: device.svm_capabilities),
        "nv_compute_capability": version(characterize.nv_compute_capability(device)),
        "nv_warp_size": or_none(lambda: device.warp_size_nv),
    }


class MadeUp:
    """A device that tells what was made up, and an error for what is null."""

    def __init__(self, facts, builds):
        self.facts, self.builds = facts, builds
        self.platform = types.SimpleNamespace(
            name=facts["platform_name"],
            vendor=facts["platform_vendor"],
            version=facts["platform_version"],
        )
        ask = _monkeypatch.generic_get_cl_version
        self.platform._get_cl_version = functools.partial(ask, self.platform)
        self.vendor = facts["vendor"]
        self.type = facts["device_type"]
        self.extensions = " ".join(facts["extensions"])
        self.local_mem_type = LOCAL_MEM_TYPES.index(facts["local_mem_type"])
        self.local_mem_size = facts["local_mem_size"]

    def _told(self, name):
        if self.facts[name] is None:
            raise cl.LogicError("clGetDeviceInfo", cl.status_code.INVALID_VALUE)
        return self.facts[name]

    warp_size_nv = property(lambda self: self._told("nv_warp_size"))
    svm_capabilities = property(lambda self: self._told("svm_capabilities"))
    compute_capability_major_nv = property(
        lambda self: self._told("nv_compute_capability")["major"])
    compute_capability_minor_nv = property(
        lambda self: self._told("nv_compute_capability")["minor"])


class MadeUpProgram:
    """A program for a MadeUp, which stands for its context, too."""

    def __init__(self, devices, source):
        self.builds = devices[0].builds

    def build(self):
        return self

    @property
    def knl(self):
        multiple = self.builds["preferred_work_group_size_multiple"]
        return types.SimpleNamespace(get_work_group_info=lambda name, device: multiple)

    @property
    def test_knl(self):
        return types.SimpleNamespace(num_args=self.builds["struct_arg_count"])


class MadeUpCl:
    """The module pyopencl, but for what would call a driver."""

    Context = list
    Program = MadeUpProgram

    def __getattr__(self, name):
        return getattr(cl, name)


def counts(warning):
    is_ours = issubclass(warning.category, characterize.CLCharacterizationWarning)
    return is_ours or "PoCL version" in str(warning.message)


def answer(convert, ask, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = convert(ask(*arguments))
        except Exception:
            return {"error": True}
    return {"value": value, "warnings": sum(map(counts, caught))}


def plain(value):
    return value


def not_negative(value):
    # What is left by arguments that need more than there is.
    return max(0, value)


CONVERTED = {
    "has_struct_arg_count_bug": lambda bug: bug or None,
    "nv_compute_capability": version,
    "get_pocl_version": version,
    "usable_local_mem_size": not_negative,
}


def answers(device, names):
    result = {}
    for name in names:
        function, _, arguments = name.partition("(")
        arguments = ast.literal_eval(f"({arguments[:-1]},)") if arguments else ()
        of = device
        if function == "get_pocl_version":
            of = device.platform
        elif function == "get_simd_group_size" and not arguments:
            arguments = (4,)
        convert = CONVERTED.get(function, plain)
        result[name] = answer(convert, getattr(characterize, function), of, *arguments)
    return result


def local_access(found):
    multiplicity, text = found
    if text is None:
        return {"multiplicity": multiplicity, "conflict": None}
    axis, bank = re.search(r"on axis (\d+) .* access bank (\d+)$", text).groups()
    items = re.findall(r"w\.item (\d+) -> (\[[^]]*\])", text)
    items = [[int(number), json.loads(index)] for number, index in items]
    conflict = {"axis": int(axis), "bank": int(bank), "work_items": items}
    return {"multiplicity": multiplicity, "conflict": conflict}


def conflict(device, array):
    ask = characterize.why_not_local_access_conflict_free
    arguments = array["item_size"], array["shape"], array["stored_shape"]
    return {"array": array, "answer": answer(local_access, ask, device, *arguments)}


def entry(name, device, facts, builds, like):
    return {
        "device": name,
        "facts": facts,
        "builds": builds,
        "answers": answers(device, like["answers"]),
        "conflicts": [conflict(device, given["array"]) for given in like["conflicts"]],
    }


def real(like):
    for platform in cl.get_platforms():
        for number, device in enumerate(platform.get_devices()):
            parts = [platform.name, device.name, device.driver_version, str(number)]
            name = " / ".join(part.strip() for part in parts)
            yield entry(name, device, facts_of(device), builds_of(device), like)


def builds_of(device):
    return {
        "preferred_work_group_size_multiple":
            characterize.reasonable_work_group_size_multiple(device),
        "struct_arg_count": 2 if characterize.has_struct_arg_count_bug(device) else 1,
    }


def synthetic(given):
    characterize.cl = MadeUpCl()
    for like in given:
        device = MadeUp(like["facts"], like["builds"])
        yield entry(like["device"], device, like["facts"], like["builds"], like)


def main():
    with open(sys.argv[1]) as file:
        ours = json.load(file)
    print(json.dumps({
        "date": datetime.date.today().isoformat(),
        "pyopencl": importlib.metadata.version("pyopencl"),
        "real": list(real((ours["real"] + ours["synthetic"])[0])),
        "synthetic": list(synthetic(ours["synthetic"])),
    }))


main()
