"""Open FILE.xdmf with VTK's reader and print what each frame holds: time, then the sum over sites of
every attribute, as "NAME SUM". Exit code 77, which stands for a test that is skipped, without VTK."""
import sys

try:
    from vtkmodules.vtkIOXdmf2 import vtkXdmfReader
except ImportError as e:
    print("there is no VTK that reads XDMF:", e, file=sys.stderr)
    sys.exit(77)
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline as pipeline


def leaves(data):
    """Grids of what the reader gave, whether it is one or a tree of blocks."""
    if not hasattr(data, "GetNumberOfBlocks"):
        return [data]
    return [g for b in range(data.GetNumberOfBlocks()) for g in leaves(data.GetBlock(b))]


def main(path):
    reader = vtkXdmfReader()
    reader.SetFileName(path)
    reader.UpdateInformation()
    times = reader.GetOutputInformation(0).Get(pipeline.TIME_STEPS())
    for time in times:
        reader.UpdateTimeStep(time)
        for run, grid in enumerate(leaves(reader.GetOutputDataObject(0))):
            cells = grid.GetCellData()
            print("run", run, "time", repr(time), "cells", grid.GetNumberOfCells(), "bounds",
                  *("%.9g" % b for b in grid.GetBounds()))
            for a in range(cells.GetNumberOfArrays()):
                array = cells.GetArray(a)
                n = array.GetNumberOfTuples()
                total = sum(int(array.GetTuple1(i)) for i in range(n))
                weighted = sum(i % 1009 * int(array.GetTuple1(i)) for i in range(n))
                print(array.GetName().replace(" ", "_"), total, weighted)


main(sys.argv[1])
